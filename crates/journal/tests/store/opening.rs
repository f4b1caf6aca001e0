//! Which files are opened, with which rights, and which are left as they are.

use crate::support::*;
use chat_journal::{ConversationStore, SqliteOptions, SqliteStore};
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// All files under a folder with their bytes. Of an index of a log only that it is there: readers mark their places in it.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            let bytes = if path.extension().is_some_and(|extension| extension == "db-shm") {
                Vec::new()
            } else {
                fs::read(&path).unwrap()
            };
            found.insert(path, bytes);
        }
    }
    found
}

/// That the database is refused with these words and its path, and that nothing has changed.
async fn assert_refused(place: &Place, path: &Path, says: &str) {
    let before = contents(place.folder());
    let store = SqliteStore::open(SqliteOptions::new(path));
    let outcome = store.ready().await;
    assert_store_error(outcome.clone(), says);
    assert_store_error(outcome, path.to_str().unwrap());
    drop(store);
    assert!(contents(place.folder()) == before, "{says}: files have changed");
}

#[tokio::test]
async fn a_directory_is_refused() {
    let place = Place::new();
    fs::create_dir(place.database()).unwrap();
    assert_refused(&place, &place.database(), "it is a directory; name a file in it").await;
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused() {
    let place = Place::new();
    for text in ["x", "SQLite format 3", &"no database\n".repeat(1000)] {
        fs::write(place.database(), text).unwrap();
        assert_refused(&place, &place.database(), "the file is no SQLite database; choose another path").await;
    }
}

#[tokio::test]
async fn a_folder_that_is_a_file_is_refused() {
    let place = Place::new();
    fs::write(place.folder().join("file"), "").unwrap();
    assert_refused(&place, &place.folder().join("file").join("chat.db"), "it cannot be").await;
}

#[tokio::test]
async fn a_database_of_another_application_is_refused() {
    for prepare in [
        "CREATE TABLE notes (text TEXT)",
        "PRAGMA application_id = 77",
        "PRAGMA user_version = 3",
        "PRAGMA journal_mode = WAL; CREATE TABLE notes (text TEXT)",
    ] {
        let place = Place::new();
        place.sql().execute_batch(prepare).unwrap();
        assert_refused(&place, &place.database(), "it belongs to another application").await;
    }
}

#[tokio::test]
async fn a_database_of_another_application_in_use_is_refused() {
    let place = Place::new();
    let user = place.sql();
    user.execute_batch(
        "PRAGMA journal_mode = WAL; CREATE TABLE notes (text TEXT); PRAGMA wal_checkpoint; INSERT INTO notes VALUES ('a')",
    )
    .unwrap();
    assert_refused(&place, &place.database(), "it belongs to another application").await;
    user.execute_batch("INSERT INTO notes VALUES ('b')").unwrap();
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused() {
    let place = Place::new();
    place.store().close().await.unwrap();
    place.sql().execute_batch("PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    assert_refused(&place, &place.database(), "a newer version of this software wrote it (schema 99").await;
}

#[tokio::test]
async fn a_newer_version_that_stands_in_the_log_alone_is_refused() {
    let place = Place::new();
    place.store().close().await.unwrap();
    let newer = place.sql();
    newer.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    newer.execute_batch("PRAGMA user_version = 99").unwrap();
    drop(newer);
    assert!(place.folder().join("chat.db-wal").exists());
    assert_refused(&place, &place.database(), "a newer version of this software wrote it (schema 99").await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_read_only_file_or_folder_is_refused() {
    let place = Place::new();
    place.store().close().await.unwrap();
    let set = |path: &Path, mode| fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    set(&place.database(), 0o400);
    assert_refused(&place, &place.database(), "it is read-only; make the file writable").await;
    set(&place.database(), 0o600);
    set(place.folder(), 0o500);
    assert_refused(&place, &place.database(), "its folder is read-only").await;
    set(place.folder(), 0o700);
    place.store().ready().await.unwrap();
}

#[tokio::test]
async fn an_empty_file_becomes_a_database() {
    let place = Place::new();
    fs::write(place.database(), "").unwrap();
    place.store().ready().await.unwrap();
    assert_eq!(place.sql().query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)).unwrap(), 1);
}

#[tokio::test]
async fn any_path_of_a_file_will_do() {
    let place = Place::new();
    for name in ["file:x?mode=memory", "100% #1 ?.db", "déjà vu/日本.db"] {
        let path = place.folder().join(name);
        let store = SqliteStore::open(SqliteOptions::new(&path));
        begin(&store).await;
        store.close().await.unwrap();
        assert!(fs::metadata(&path).unwrap().len() > 0, "{name}");
        let store = SqliteStore::open(SqliteOptions::new(&path));
        assert!(store.get_conversation(OWNER, CONVERSATION).await.unwrap().is_some());
    }
    assert_store_error(SqliteStore::open(SqliteOptions::new("")).ready().await, "is no path of a file");
}

#[test]
fn new_files_are_the_owners_alone_whatever_the_umask() {
    if cfg!(unix) {
        let place = Place::new();
        let path = place.folder().join("new").join("folders").join("chat.db");
        assert!(child("opening::child_opens", "umask 000", &path).status().unwrap().success());
    }
}

#[tokio::test]
async fn child_opens() {
    let Some(path) = database_of_child() else { return };
    let store = SqliteStore::open(SqliteOptions::new(&path));
    begin(&store).await;
    append(&store, TURN, updates(1..=3)).await.unwrap();
    assert_updates(&store, TURN, 3).await;
    #[cfg(unix)]
    {
        let mode = |path: &Path| std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions()) & 0o777;
        for name in ["chat.db", "chat.db-wal", "chat.db-shm"] {
            assert_eq!(mode(&path.with_file_name(name)), 0o600, "{name}");
        }
        let folders: Vec<u32> = path.ancestors().skip(1).take(2).map(mode).collect();
        assert_eq!(folders, [0o700, 0o700]);
    }
}

#[tokio::test]
async fn every_table_is_strict_and_foreign_keys_hold() {
    let place = Place::new();
    let store = place.store();
    begin(&store).await;
    append(&store, TURN, updates(1..=3)).await.unwrap();
    let sql: Connection = place.sql();
    let lax: i64 = sql.query_row("SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND NOT strict AND name NOT LIKE 'sqlite_%'", [], |row| row.get(0)).unwrap();
    assert_eq!(lax, 0);
    let mode: String = sql.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    assert!(!sql.prepare("PRAGMA foreign_key_check").unwrap().exists([]).unwrap());
    assert!(sql.execute("DELETE FROM turns", []).is_err());
}
