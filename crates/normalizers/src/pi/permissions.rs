//! Which dialogs ask for leave. Pi has no permissions: an extension stops a tool call that is about to run and asks in a dialog,
//! which has nothing but texts.

use super::calls::Call;
use super::wire::{HostLine, UiRequest};
use chat_grammar::event::PermissionChoice;

const ALLOW_ONCE: &str = "allow_once";
const ALLOW_ALWAYS: &str = "allow_always";
const REJECT_ONCE: &str = "reject_once";
const REJECT_ALWAYS: &str = "reject_always";

/// The options of a dialog that asks for a yes or no.
const CONFIRM: [(&str, &str, &str); 2] = [("allow", "Allow", ALLOW_ONCE), ("reject", "Reject", REJECT_ONCE)];

/// What can be answered. An option of a `select` has its label as id, since that is Pi's answer.
#[derive(Debug)]
pub(super) struct Choices {
    pub options: Vec<PermissionChoice>,
}

impl Choices {
    /// The option that the host picked, and its reason: what stands behind the label, from the next line on.
    pub(super) fn chosen(&self, given: &HostLine<'_>) -> (Option<&PermissionChoice>, Option<String>) {
        if given.cancelled == Some(true) {
            return (None, None);
        }
        let (id, reason) = match (given.value.as_deref(), given.confirmed) {
            (Some(value), _) => match value.split_once('\n') {
                Some((id, reason)) if !self.options.iter().any(|option| option.option_id == value) => (id, Some(reason)),
                _ => (value, None),
            },
            (None, Some(true)) => ("allow", None),
            (None, Some(false)) => ("reject", None),
            (None, None) => return (None, None),
        };
        let option = self.options.iter().find(|option| option.option_id == id);
        (option, reason.map(str::to_owned))
    }
}

/// The call that a dialog asks leave for, the text for the user and the options; `None` for a question. It is a `select` with a yes and
/// a no among its options, or a `confirm`, whose text names a call that runs: by its id, by the text of a command or path, or by the
/// name of its tool.
pub(super) fn asked<'a>(request: &UiRequest<'_>, executing: &[(&str, &'a Call)]) -> Option<(&'a Call, String, Choices)> {
    let options = match &*request.method {
        "confirm" => CONFIRM.map(choice).to_vec(),
        "select" => {
            let labels = request.options.iter().flatten();
            labels.map(|label| Some(choice((label, label, kind(label)?)))).collect::<Option<_>>()?
        }
        _ => return None,
    };
    let has = |allowing: bool| options.iter().any(|option: &PermissionChoice| option.allows() == allowing);
    if !has(true) || !has(false) {
        return None;
    }
    let text = match (request.title.as_deref(), request.message.as_deref()) {
        (Some(title), Some(message)) => format!("{title}\n{message}"),
        (title, message) => title.or(message)?.to_owned(),
    };
    let named = [by_id, by_input, by_tool]
        .into_iter()
        .find_map(|names: Names| executing.iter().find(|(native, call)| names(&text, native, call)));
    let (native, call) = named?;
    // A line with nothing but the id is there for programs.
    let shown: Vec<&str> = text.lines().filter(|line| line.trim().trim_matches(['[', ']']) != *native).collect();
    Some((call, shown.join("\n"), Choices { options }))
}

type Names = fn(&str, &str, &Call) -> bool;

fn by_id(text: &str, native: &str, _: &Call) -> bool {
    !native.is_empty() && text.contains(native)
}

fn by_input(text: &str, _: &str, call: &Call) -> bool {
    let words = ["command", "path", "pattern"].iter().filter_map(|name| call.input.get(name)?.as_str());
    words.into_iter().any(|word| word.trim().len() > 1 && text.contains(word))
}

fn by_tool(text: &str, _: &str, call: &Call) -> bool {
    let mut words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    words.any(|word| word.eq_ignore_ascii_case(&call.tool.name))
}

fn choice((option_id, name, kind): (&str, &str, &str)) -> PermissionChoice {
    PermissionChoice { option_id: option_id.to_owned(), name: name.to_owned(), kind: kind.to_owned() }
}

/// What an option means, by the first word of its label; `None` where that is neither yes nor no.
fn kind(label: &str) -> Option<&'static str> {
    let lower = label.to_lowercase();
    let has = |needles: &[&str]| needles.iter().any(|needle| lower.contains(needle));
    let first = lower.split(|letter: char| !letter.is_alphanumeric()).find(|word| !word.is_empty())?;
    let lasting = has(&["always", "session", "never", "don't ask", "remember"]);
    match first {
        "no" | "reject" | "deny" | "block" | "cancel" | "refuse" | "decline" | "never" | "stop" => {
            Some(if lasting { REJECT_ALWAYS } else { REJECT_ONCE })
        }
        "yes" | "allow" | "approve" | "accept" | "ok" | "run" | "proceed" | "continue" | "once" | "always" => {
            Some(if lasting { ALLOW_ALWAYS } else { ALLOW_ONCE })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::kind;

    #[test]
    fn an_option_is_known_by_its_first_word() {
        let kinds = ["Allow once", "Always", "Yes, and don't ask again", "Reject", "No, never", "red"].map(kind);
        let expected =
            [Some("allow_once"), Some("allow_always"), Some("allow_always"), Some("reject_once"), Some("reject_always"), None];
        assert_eq!(kinds, expected);
    }
}
