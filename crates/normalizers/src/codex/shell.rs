//! Shell command lines as Codex prints them.

/// The script behind `/bin/bash -lc 'script'`; any other command line stays as it is.
pub(super) fn unwrap(command: &str) -> String {
    script(command).unwrap_or_else(|| command.to_owned())
}

fn script(command: &str) -> Option<String> {
    let words = words(command)?;
    let [shell, flags, script] = words.as_slice() else { return None };
    let shell = shell.rsplit(['/', '\\']).next()?;
    let known = matches!(shell, "sh" | "bash" | "zsh" | "dash" | "ksh" | "fish");
    let runs = flags.starts_with('-') && !flags.starts_with("--") && flags.ends_with('c');
    (known && runs).then(|| script.clone())
}

/// The words of a command line after POSIX quoting; `None` where a quote is left open.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line.chars();
    while let Some(next) = rest.next() {
        match next {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        '\'' => break,
                        plain => word.push(plain),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        '"' => break,
                        '\\' => match rest.next()? {
                            escaped @ ('"' | '\\' | '$' | '`') => word.push(escaped),
                            '\n' => {}
                            plain => word.extend(['\\', plain]),
                        },
                        plain => word.push(plain),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(rest.next()?),
            plain => word.get_or_insert_default().push(plain),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::unwrap;

    #[test]
    fn a_script_is_unwrapped() {
        assert_eq!(unwrap("/bin/bash -lc 'echo hi'"), "echo hi");
        assert_eq!(unwrap("bash -c ls"), "ls");
        assert_eq!(unwrap(r#"/bin/zsh -lc "echo \"$x\" it's""#), r#"echo "$x" it's"#);
        assert_eq!(unwrap(r"/bin/bash -lc 'it'\''s'"), "it's");
    }

    #[test]
    fn what_is_no_wrapped_script_stays() {
        for command in ["rm -rf build", "/bin/bash -lc 'open", "bash -lc a b", "bash --norc x", "", "python -c 'print()'"] {
            assert_eq!(unwrap(command), command);
        }
    }
}
