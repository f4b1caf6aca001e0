//! Unified diffs as Codex prints them: hunks without file headers.

/// One hunk as the text before and after it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hunk {
    /// Line number in the new file, from 1.
    pub line: Option<u32>,
    pub old: String,
    pub new: String,
}

/// The hunks of a diff. Lines that belong to none are left out, such as the line after a move that says where to.
pub(crate) fn hunks(diff: &str) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    let mut left = Counts::default();
    for line in diff.split_inclusive('\n') {
        if left.is_done()
            && let Some(header) = header(line)
        {
            left = header.counts;
            hunks.push(Hunk { line: Some(header.line), ..Hunk::default() });
            continue;
        }
        let Some(hunk) = hunks.last_mut() else { continue };
        match line.split_at_checked(1) {
            Some(("\\", _)) => {
                // The line before has no newline at its end.
                for side in [&mut hunk.old, &mut hunk.new] {
                    if left.is_done() && side.ends_with('\n') {
                        side.pop();
                    }
                }
            }
            _ if left.is_done() => {}
            Some(("-", text)) => {
                left.old = left.old.saturating_sub(1);
                hunk.old.push_str(text);
            }
            Some(("+", text)) => {
                left.new = left.new.saturating_sub(1);
                hunk.new.push_str(text);
            }
            Some((" ", text)) => {
                left.old = left.old.saturating_sub(1);
                left.new = left.new.saturating_sub(1);
                hunk.old.push_str(text);
                hunk.new.push_str(text);
            }
            // An empty context line whose space was trimmed.
            _ => {
                left.old = left.old.saturating_sub(1);
                left.new = left.new.saturating_sub(1);
                hunk.old.push_str(line);
                hunk.new.push_str(line);
            }
        }
    }
    hunks
}

/// How many lines of a hunk are still to come.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    old: u32,
    new: u32,
}

impl Counts {
    fn is_done(self) -> bool {
        self.old == 0 && self.new == 0
    }
}

struct Header {
    line: u32,
    counts: Counts,
}

/// `@@ -1,3 +1,4 @@`
fn header(line: &str) -> Option<Header> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let range = |range: &str| -> Option<(u32, u32)> {
        let (line, count) = range.split_once(',').unwrap_or((range, "1"));
        Some((line.parse().ok()?, count.parse().ok()?))
    };
    let ((_, old), (line, new)) = (range(old)?, range(new)?);
    Some(Header { line, counts: Counts { old, new } })
}

#[cfg(test)]
mod tests {
    use super::{Hunk, hunks};

    #[test]
    fn hunks_become_old_and_new_text() {
        let diff = "@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n@@ -9 +9,2 @@\n-x\n+y\n+z\n";
        let first = Hunk { line: Some(1), old: "one\ntwo\nthree\n".to_owned(), new: "one\nTWO\nthree\n".to_owned() };
        let second = Hunk { line: Some(9), old: "x\n".to_owned(), new: "y\nz\n".to_owned() };
        assert_eq!(hunks(diff), [first, second]);
    }

    #[test]
    fn lines_after_a_hunk_are_left_out() {
        let moved = hunks("@@ -1 +1 @@\n-move me\n+moved\n\n\nMoved to: /workspace/b.txt");
        assert_eq!(moved, [Hunk { line: Some(1), old: "move me\n".to_owned(), new: "moved\n".to_owned() }]);
    }

    #[test]
    fn a_missing_newline_at_the_end_is_kept_missing() {
        let hunks = hunks("@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n");
        assert_eq!(hunks, [Hunk { line: Some(1), old: "a".to_owned(), new: "b".to_owned() }]);
    }

    #[test]
    fn strange_text_has_no_hunks() {
        for text in ["", "@@", "@@ -x +y @@\n-a\n", "just text\n", "@@ -1 +1"] {
            assert_eq!(hunks(text), []);
        }
    }
}
