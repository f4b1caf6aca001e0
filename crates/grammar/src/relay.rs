//! An ACP agent's own updates. The official types lose what they do not know, so such an update is kept as text: it is read
//! member by member, changed only where our stream demands it, and passed on.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// More members than any update has; an object with more is no update.
const MEMBER_LIMIT: usize = 256;

const META: &str = "_meta";
const OURS: &str = "amalgm";

/// The members of a JSON object in their order, each as it was written.
#[derive(Debug, Clone, Default)]
pub struct Members<'a> {
    members: Vec<(Cow<'a, str>, Cow<'a, RawValue>)>,
    /// The object as it was written, as long as nothing was changed.
    verbatim: Option<&'a str>,
}

impl<'a> Members<'a> {
    /// Reads an object. `None` where the text is no JSON object, or one of more than 256 members.
    pub fn read(json: &'a str) -> Option<Self> {
        let mut read: Self = serde_json::from_str(json).ok()?;
        if read.verbatim.is_some() {
            read.verbatim = Some(json.trim());
        }
        Some(read)
    }

    /// Reads the object that a text begins with, and gives what follows it. `None` as for `read`.
    pub fn read_first(json: &'a str) -> Option<(Self, &'a str)> {
        let mut texts = serde_json::Deserializer::from_str(json).into_iter::<Self>();
        let mut read = texts.next()?.ok()?;
        let (object, rest) = json.split_at_checked(texts.byte_offset())?;
        if read.verbatim.is_some() {
            read.verbatim = Some(object.trim());
        }
        Some((read, rest))
    }

    /// The JSON of a member.
    pub fn get(&self, name: &str) -> Option<&RawValue> {
        self.position(name).and_then(|position| self.members.get(position)).map(|(_, value)| &**value)
    }

    /// The JSON of a member that was not set since it was read.
    pub fn original(&self, name: &str) -> Option<&'a RawValue> {
        match self.members.get(self.position(name)?) {
            Some((_, Cow::Borrowed(value))) => Some(value),
            _ => None,
        }
    }

    /// Gives a member another value, or adds it at the end.
    pub fn set(&mut self, name: &'static str, value: Box<RawValue>) {
        self.verbatim = None;
        match self.position(name).and_then(|position| self.members.get_mut(position)) {
            Some(member) => member.1 = Cow::Owned(value),
            None => self.members.push((Cow::Borrowed(name), Cow::Owned(value))),
        }
    }

    /// Takes a member out. True where there was one.
    pub fn remove(&mut self, name: &str) -> bool {
        let Some(position) = self.position(name) else { return false };
        self.verbatim = None;
        self.members.remove(position);
        true
    }

    /// Puts a member in front of all others.
    pub fn lead(&mut self, name: &'static str, value: Box<RawValue>) {
        self.remove(name);
        self.verbatim = None;
        self.members.insert(0, (Cow::Borrowed(name), Cow::Owned(value)));
    }

    /// True as long as it is what was read.
    pub fn is_verbatim(&self) -> bool {
        self.verbatim.is_some()
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// True where there is no member.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.members.iter().position(|(known, _)| known == name)
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members: Vec<(Cow<'de, str>, Cow<'de, RawValue>)> = Vec::with_capacity(8);
                let mut repeated = false;
                while let Some(Key(name)) = map.next_key()? {
                    let value: &'de RawValue = map.next_value()?;
                    // Of a name that comes twice the last one counts, as for every reader of JSON.
                    match members.iter_mut().find(|(known, _)| *known == name) {
                        Some(member) => {
                            member.1 = Cow::Borrowed(value);
                            repeated = true;
                        }
                        None => members.push((name, Cow::Borrowed(value))),
                    }
                    if members.len() > MEMBER_LIMIT {
                        return Err(serde::de::Error::custom("more members than an update has"));
                    }
                }
                // The caller knows the text.
                Ok(Members { members, verbatim: (!repeated).then_some("") })
            }
        }

        deserializer.deserialize_map(Object)
    }
}

struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl<'de> Visitor<'de> for Text {
            type Value = Key<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a name")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_str(Text)
    }
}

/// An agent's update as the text that is passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentUpdate {
    /// The object without `_meta` and without its last brace. On one line.
    body: String,
    /// The agent's own members of `_meta`, with a comma after each.
    meta: String,
    changed: bool,
    /// The length in bytes of output that was streamed and is not repeated whole in this update.
    pub truncated: Option<u64>,
}

impl From<Members<'_>> for AgentUpdate {
    fn from(members: Members<'_>) -> Self {
        let changed = !members.is_verbatim();
        let meta = members.get(META).map(RawValue::get);
        let verbatim = members.verbatim.filter(|_| members.get(META).is_none());
        let mut body = match verbatim.and_then(|json| json.strip_suffix('}')) {
            Some(json) => json.to_owned(),
            None => format!("{{{}", listed(&members, META)),
        };
        let mut meta = meta.and_then(without_ours).unwrap_or_default();
        if !meta.trim_ascii().is_empty() {
            meta.push(',');
        }
        for text in [&mut body, &mut meta] {
            // A newline would end the update in the journal; JSON text has them only between tokens.
            if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_some() {
                *text = text.replace(['\n', '\r'], " ");
            }
        }
        Self { body, meta, changed, truncated: None }
    }
}

/// The members of an agent's `_meta` but ours, separated by commas. `None` where it is no object.
fn without_ours(meta: &str) -> Option<String> {
    // Streamed output comes here: what cannot hold our name is not read once more. A name may be written with escapes.
    let is_foreign = memchr::memmem::find(meta.as_bytes(), OURS.as_bytes()).is_none() && !meta.contains("\\u");
    match meta.strip_prefix('{').and_then(|meta| meta.strip_suffix('}')).filter(|_| is_foreign) {
        Some(members) => Some(members.to_owned()),
        None => Members::read(meta).map(|meta| listed(&meta, OURS)),
    }
}

/// The members but one, separated by commas.
fn listed(members: &Members<'_>, left_out: &str) -> String {
    let mut text = String::new();
    for (name, value) in members.members.iter().filter(|(name, _)| name != left_out) {
        if !text.is_empty() {
            text.push(',');
        }
        // A string always has a JSON form.
        text.push_str(&serde_json::to_string(name).unwrap_or_default());
        text.push(':');
        text.push_str(value.get());
    }
    text
}

impl AgentUpdate {
    /// Whether it is something else than what the agent sent.
    pub fn is_changed(&self) -> bool {
        self.changed
    }

    /// The text as far as `_meta.amalgm`, into which the caller goes on to write: the object's end is left open.
    pub(crate) fn open(&self, buffer: &mut Vec<u8>) {
        buffer.extend_from_slice(self.body.as_bytes());
        let separator: &[u8] = if self.body.trim_end() == "{" { b"" } else { b"," };
        buffer.extend_from_slice(separator);
        buffer.extend_from_slice(br#""_meta":{"#);
        buffer.extend_from_slice(self.meta.as_bytes());
    }

    /// The update as it stands, without ours.
    pub fn json(&self) -> String {
        match self.meta.strip_suffix(',') {
            None => format!("{}}}", self.body),
            Some(meta) if self.body == "{" => format!(r#"{{"_meta":{{{meta}}}}}"#),
            Some(meta) => format!(r#"{},"_meta":{{{meta}}}}}"#, self.body),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AgentUpdate, Members};
    use serde_json::value::RawValue;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    fn members(json: &str) -> Members<'_> {
        Members::read(json).unwrap()
    }

    #[test]
    fn what_is_not_changed_stays_word_for_word() {
        let json = r#"{"sessionUpdate":"x", "big": 9007199254740993, "one":1.0,"none":null ,"s":"\u2028"}"#;
        let update = AgentUpdate::from(members(json));
        assert!(!update.is_changed());
        assert_eq!(update.json(), json);
    }

    #[test]
    fn changes_keep_order_and_values() {
        let mut update = members(r#"{"a":1.0,"b":{"c" : 2},"_meta":{"x":1e3,"amalgm":{"sequence":9}},"d":[]}"#);
        update.set("b", raw("true"));
        update.set("e", raw("\"new\""));
        assert!(update.remove("d"));
        assert!(!update.remove("d"));
        update.lead("first", raw("0"));
        let update = AgentUpdate::from(update);
        assert!(update.is_changed());
        // Ours is never the agent's to say.
        assert_eq!(update.json(), r#"{"first":0,"a":1.0,"b":true,"e":"new","_meta":{"x":1e3}}"#);
    }

    #[test]
    fn text_is_on_one_line_and_names_come_once() {
        let update = AgentUpdate::from(members("{\n\"a\":1,\r\n \"b\":2}"));
        assert!(!update.json().contains(['\n', '\r']));
        let update = AgentUpdate::from(members(r#"{"a":1,"b":2,"a":3}"#));
        assert_eq!(update.json(), r#"{"a":3,"b":2}"#);
    }

    #[test]
    fn an_object_may_be_the_beginning_of_a_text() {
        let (read, rest) = Members::read_first(r#" {"a":"}","b":1} }}"#).unwrap();
        assert_eq!(rest, " }}");
        assert!(read.is_verbatim());
        assert_eq!(AgentUpdate::from(read).json(), r#"{"a":"}","b":1}"#);
        for json in ["", "[]", "{\"a\":1", "1 {}"] {
            assert!(Members::read_first(json).is_none(), "{json}");
        }
    }

    #[test]
    fn ours_is_taken_out_however_it_is_written() {
        for (meta, kept) in [
            (r#"{"amalgm":1}"#, r#"{"a":1}"#),
            (r#"{"\u0061malgm":1,"x":2}"#, r#"{"a":1,"_meta":{"x":2}}"#),
            (r#"{"x":"amalgm"}"#, r#"{"a":1,"_meta":{"x":"amalgm"}}"#),
            (r#"{"x":"y"}"#, r#"{"a":1,"_meta":{"x":"y"}}"#),
            ("{ }", r#"{"a":1}"#),
            ("[1]", r#"{"a":1}"#),
        ] {
            assert_eq!(AgentUpdate::from(members(&format!(r#"{{"a":1,"_meta":{meta}}}"#))).json(), kept);
        }
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for json in ["", "[]", "1", "\"x\"", "{\"a\":}", "{} x"] {
            assert!(Members::read(json).is_none(), "{json}");
        }
        let many: Vec<String> = (0..300).map(|n| format!("\"m{n}\":0")).collect();
        assert!(Members::read(&format!("{{{}}}", many.join(","))).is_none());
    }
}
