//! What hosts of earlier versions of Codex have on disk and call: messages of older forms, one at a time, and helpers for
//! items. Messages are put into today's form and read by the same state machine.

mod annotate;
mod describe;
mod item;
mod message;
mod per_message;
mod tokens;

pub(crate) use annotate::annotate;
pub use describe::{ItemDescription, describe_item, error_message};
pub(crate) use per_message::PerMessage;

use serde_json::{Map, Value};

type Object = Map<String, Value>;

/// The first of the members that is a text; a number counts as its digits.
fn word(object: &Object, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| match object.get(*name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

/// The first of the members that is there and not null.
fn first(object: &Object, names: &[&str]) -> Option<Value> {
    names.iter().find_map(|name| object.get(*name).filter(|value| !value.is_null()).cloned())
}

/// Sets a member that today's form has and this object has not.
fn fill(object: &mut Object, name: &str, value: Option<Value>) {
    if let Some(value) = value
        && object.get(name).is_none_or(Value::is_null)
    {
        object.insert(name.to_owned(), value);
    }
}
