//! Conversations in SQL.

use super::cursor::Cursor;
use super::failure::{Failure, Outcome};
use super::row::{json, to_json};
use chat_grammar::records::{ConversationPage, ConversationPatch, ConversationRecord, ListOptions};
use chat_grammar::{ChatError, ErrorCode};
use rusqlite::{Connection, OptionalExtension, Row, params};

const COLUMNS: &str = "owner, id, title, agent, execution, created_at, updated_at, archived_at, new_messages";

const DEFAULT_LIMIT: u64 = 50;
const MAX_LIMIT: u64 = 500;

pub(crate) fn create(connection: &Connection, record: &ConversationRecord) -> Outcome<()> {
    let created = connection
        .prepare_cached(&format!(
            "INSERT INTO conversations ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING"
        ))?
        .execute(params![
            record.owner_user_id,
            record.id,
            record.title,
            to_json(&record.agent)?,
            to_json(&record.execution)?,
            record.created_at,
            record.updated_at,
            record.archived_at,
            record.new_messages,
        ])?;
    if created == 0 {
        let message = format!("session {:?} exists already", record.id);
        return Err(ChatError::new(ErrorCode::SessionAlreadyExists, message).into());
    }
    Ok(())
}

pub(crate) fn get(connection: &Connection, owner: &str, id: &str) -> Outcome<Option<ConversationRecord>> {
    Ok(connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM conversations WHERE owner = ?1 AND id = ?2"))?
        .query_row([owner, id], from_row)
        .optional()?)
}

/// # Errors
/// `SESSION_NOT_FOUND`.
pub(crate) fn require(connection: &Connection, owner: &str, id: &str) -> Outcome<()> {
    let exists = connection.prepare_cached("SELECT 1 FROM conversations WHERE owner = ?1 AND id = ?2")?.exists([owner, id])?;
    if exists { Ok(()) } else { Err(ChatError::session_not_found(id).into()) }
}

pub(crate) fn update(connection: &Connection, owner: &str, id: &str, patch: ConversationPatch) -> Outcome<ConversationRecord> {
    let mut record = get(connection, owner, id)?.ok_or_else(|| Failure::from(ChatError::session_not_found(id)))?;
    let ConversationPatch { title, archived_at, new_messages, execution, updated_at } = patch;
    record.title = title.unwrap_or(record.title);
    record.archived_at = archived_at.unwrap_or(record.archived_at);
    record.new_messages = new_messages.unwrap_or(record.new_messages);
    record.execution = execution.unwrap_or(record.execution);
    record.updated_at = updated_at.unwrap_or(record.updated_at);
    connection
        .prepare_cached(
            "UPDATE conversations SET title = ?3, archived_at = ?4, new_messages = ?5, execution = ?6, updated_at = ?7
             WHERE owner = ?1 AND id = ?2",
        )?
        .execute(params![
            owner,
            id,
            record.title,
            record.archived_at,
            record.new_messages,
            to_json(&record.execution)?,
            record.updated_at,
        ])?;
    Ok(record)
}

/// What a listing asks for, checked.
#[derive(Debug)]
pub(crate) struct Listing {
    include_archived: bool,
    limit: usize,
    after: Option<Cursor>,
}

impl TryFrom<ListOptions> for Listing {
    type Error = ChatError;

    fn try_from(options: ListOptions) -> Result<Self, ChatError> {
        let limit = options.limit.unwrap_or(DEFAULT_LIMIT);
        let within = usize::try_from(limit).ok().filter(|_| (1..=MAX_LIMIT).contains(&limit));
        let limit = within.ok_or_else(|| {
            ChatError::at(ErrorCode::InvalidOptions, "limit", format_args!("must be from 1 to {MAX_LIMIT}, got {limit}"))
        })?;
        let after = options.cursor.as_deref().map(Cursor::parse).transpose()?;
        Ok(Self { include_archived: options.include_archived.unwrap_or(false), limit, after })
    }
}

pub(crate) fn list(connection: &Connection, owner: &str, listing: &Listing) -> Outcome<ConversationPage> {
    // One more than asked for tells whether there is a next page.
    let wanted = i64::try_from(listing.limit + 1).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM conversations
         WHERE owner = ?1 AND (?2 OR archived_at IS NULL) AND (updated_at, id) < (?3, ?4)
         ORDER BY updated_at DESC, id DESC LIMIT ?5"
    ))?;
    let (updated_at, id) = match &listing.after {
        Some(cursor) => (cursor.updated_at.as_str(), cursor.id.as_str()),
        // Greater than any time.
        None => ("\u{10FFFF}", ""),
    };
    let mut conversations: Vec<ConversationRecord> = statement
        .query_map(params![owner, listing.include_archived, updated_at, id, wanted], from_row)?
        .collect::<Result<_, _>>()?;
    let more = conversations.len() > listing.limit;
    conversations.truncate(listing.limit);
    let last = conversations.last().filter(|_| more);
    let next_cursor = last.map(|record| Cursor { updated_at: record.updated_at.clone(), id: record.id.clone() }.to_string());
    Ok(ConversationPage { conversations, next_cursor })
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<ConversationRecord> {
    Ok(ConversationRecord {
        id: row.get("id")?,
        owner_user_id: row.get("owner")?,
        title: row.get("title")?,
        agent: json(row, "agent")?,
        execution: json(row, "execution")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
        archived_at: row.get("archived_at")?,
        new_messages: row.get("new_messages")?,
    })
}
