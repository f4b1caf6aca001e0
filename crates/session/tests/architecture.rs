//! The rules of ARCHITECTURE.md that the compiler does not hold.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace exists")
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder exists") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The lines of a file that are code and not comment.
fn code(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).expect("the file can be read");
    text.lines().map(str::trim).filter(|line| !line.starts_with("//")).map(str::to_owned).collect()
}

/// Layer to allowed layers, from the table of ARCHITECTURE.md.
fn documented() -> BTreeMap<String, Vec<String>> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md exists");
    let names = |cell: &str| -> Vec<String> {
        cell.split('`').skip(1).step_by(2).filter(|name| name.starts_with("chat-")).map(str::to_owned).collect()
    };
    let rows = text.lines().filter(|line| line.starts_with("| `chat-"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').collect();
        let mut allowed = names(cells[2]);
        allowed.sort();
        (names(cells[1])[0].clone(), allowed)
    })
    .collect()
}

#[test]
fn the_crate_graph_is_the_documented_one() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("metadata is JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let actual: BTreeMap<String, Vec<String>> = packages
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().expect("dependencies").iter();
            // Tests may look at layers below their own through one in between.
            let used = dependencies.filter(|dependency| dependency["kind"].is_null());
            let mut names: Vec<String> = used
                .filter_map(|dependency| dependency["name"].as_str())
                .filter(|name| name.starts_with("chat-"))
                .map(str::to_owned)
                .collect();
            names.sort();
            (package["name"].as_str().expect("a name").to_owned(), names)
        })
        .collect();
    assert_eq!(actual, documented(), "change ARCHITECTURE.md and the crates together");
}

#[test]
fn only_the_addon_knows_napi_and_only_the_journal_knows_sql() {
    for folder in ["grammar", "normalizers", "journal", "agents", "session"] {
        for file in rust_files(&root().join("crates").join(folder).join("src")) {
            for line in code(&file) {
                assert!(!line.contains("napi"), "{}: {line}", file.display());
                let sql = ["rusqlite", "SELECT ", "INSERT INTO", "PRAGMA "].iter().any(|word| line.contains(word));
                assert!(!sql || folder == "journal", "{}: {line}", file.display());
            }
        }
    }
    for file in rust_files(&root().join("src")) {
        assert!(!code(&file).iter().any(|line| line.contains("rusqlite")), "{}", file.display());
    }
}

#[test]
fn grammar_and_normalizers_are_pure() {
    let impure =
        ["std::fs", "std::net", "std::process", "std::env", "std::thread", "SystemTime::now", "Instant", "tokio", "rand::"];
    for folder in ["grammar", "normalizers"] {
        for file in rust_files(&root().join("crates").join(folder).join("src")) {
            for line in code(&file) {
                let found = impure.iter().find(|word| line.contains(**word));
                assert!(found.is_none(), "{}: {line}", file.display());
            }
        }
    }
}

#[test]
fn no_layer_above_the_agents_asks_which_agent_it_is() {
    // Ids as code compares them; "cursor" alone is also an option of lists.
    let agents = ["claude_code", "codex", "cursor", "opencode"];
    let compares = |line: &str, agent: &str| {
        [format!("== \"{agent}\""), format!("\"{agent}\" =>"), format!("\"{agent}\" |")]
            .iter()
            .any(|form| line.contains(form.as_str()))
    };
    let mut folders = vec![root().join("src"), root().join("crates/session/src"), root().join("crates/journal/src")];
    folders.push(root().join("crates/grammar/src"));
    for file in folders.iter().flat_map(|folder| rust_files(folder)) {
        for line in code(&file) {
            let found = agents.iter().find(|agent| compares(&line, agent));
            assert!(found.is_none(), "{}: {line}", file.display());
        }
    }
}

#[test]
fn every_export_catches_panics() {
    for file in rust_files(&root().join("src")) {
        let lines = code(&file);
        for (index, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("#[napi")) {
            let item = lines.iter().skip(index + 1).find(|line| !line.starts_with("#[")).expect("an attribute has an item");
            let is_function = item.starts_with("pub fn ") || item.starts_with("pub async fn ");
            assert!(!is_function || line.contains("catch_unwind"), "{}: {item}", file.display());
            assert!(!item.starts_with("pub async fn "), "{}: a promise comes from promise::answer", file.display());
        }
    }
}

#[test]
fn panics_unwind_in_every_profile() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("Cargo.toml exists");
    assert!(!manifest.contains("panic = \"abort\""));
}

#[test]
fn the_compiler_holds_memory_safety_but_for_the_addon_and_one_file() {
    for folder in fs::read_dir(root().join("crates")).expect("crates exist") {
        let manifest = folder.expect("readable").path().join("Cargo.toml");
        let text = fs::read_to_string(&manifest).expect("every crate has a manifest");
        assert!(text.contains("[lints]\nworkspace = true"), "{} does not take the workspace's lints", manifest.display());
    }
    let word = concat!("un", "safe");
    for file in rust_files(&root().join("crates")) {
        let is_exception = file.ends_with("agents/src/process/parent_death.rs");
        let found =
            code(&file).into_iter().find(|line| line.contains(&format!("{word} ")) || line.contains(&format!("{word}_")));
        assert!(found.is_none() || is_exception, "{}: {found:?}", file.display());
    }
}

#[test]
fn files_hold_one_concern() {
    let mut folders = vec![root().join("src")];
    folders.extend(
        ["grammar", "normalizers", "journal", "agents", "session"].map(|name| root().join("crates").join(name).join("src")),
    );
    for file in folders.iter().flat_map(|folder| rust_files(folder)) {
        let lines = fs::read_to_string(&file).expect("readable").lines().count();
        assert!(lines <= 600, "{} has {lines} lines: does it hold one thing?", file.display());
    }
}
