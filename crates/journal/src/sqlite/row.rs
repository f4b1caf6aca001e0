//! Between columns and the types of records.

use super::failure::{Failure, Outcome};
use rusqlite::types::Type;
use rusqlite::{Error, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;

/// A value as JSON text.
pub(crate) fn to_json<T: Serialize + ?Sized>(value: &T) -> Outcome<String> {
    serde_json::to_string(value).map_err(|error| Failure::refused(format!("a record has no JSON form: {error}")))
}

/// A column of JSON text.
pub(crate) fn json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<T> {
    parse(row, column, row.get_ref(column)?.as_str()?)
}

/// A column of JSON text that may be null.
pub(crate) fn optional_json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<T>> {
    row.get_ref(column)?.as_str_or_null()?.map(|text| parse(row, column, text)).transpose()
}

/// A column of JSON text that is handed on as it is.
pub(crate) fn raw_json(row: &Row<'_>, column: &str) -> rusqlite::Result<Arc<RawValue>> {
    let text: String = row.get(column)?;
    RawValue::from_string(text).map(Arc::from).map_err(|error| unreadable(row, column, error))
}

/// A column with a word of an enumeration.
pub(crate) fn word<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<T> {
    serde_json::from_value(Value::String(row.get(column)?)).map_err(|error| unreadable(row, column, error))
}

/// A column with a count.
pub(crate) fn count(row: &Row<'_>, column: &str) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|error| unreadable(row, column, error))
}

/// A count as SQLite holds it.
pub(crate) fn integer(count: u64) -> Outcome<i64> {
    i64::try_from(count).map_err(|_| Failure::refused(format!("the number {count} is too large to be stored")))
}

fn parse<T: DeserializeOwned>(row: &Row<'_>, column: &str, text: &str) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(|error| unreadable(row, column, error))
}

fn unreadable(row: &Row<'_>, column: &str, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    let index = row.as_ref().column_index(column).unwrap_or_default();
    Error::FromSqlConversionFailure(index, Type::Text, Box::new(error))
}
