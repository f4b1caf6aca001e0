//! Pages of conversations.

use crate::support::*;
use chat_grammar::ErrorCode;
use chat_grammar::records::ListOptions;
use chat_journal::{ConversationStore, SqliteStore};
use serde_json::json;

async fn filled(place: &Place) -> SqliteStore {
    let store = place.store();
    for n in 0..23 {
        let mut record = conversation(OWNER, &format!("c{n:02}"));
        // Some share their time.
        record.updated_at = time(n / 3);
        record.archived_at = (n % 5 == 0).then(|| time(100));
        store.create_conversation(record).await.unwrap();
    }
    store.create_conversation(conversation("bob", "his")).await.unwrap();
    store
}

async fn pages(store: &SqliteStore, include_archived: bool, limit: u64) -> Vec<Vec<String>> {
    let mut options = ListOptions { include_archived: Some(include_archived), limit: Some(limit), cursor: None };
    let mut pages = Vec::new();
    loop {
        let page = store.list_conversations(OWNER, options.clone()).await.unwrap();
        pages.push(page.conversations.into_iter().map(|record| record.id).collect());
        options.cursor = page.next_cursor;
        if options.cursor.is_none() {
            return pages;
        }
    }
}

#[tokio::test]
async fn pages_follow_each_other_newest_first() {
    let place = Place::new();
    let store = filled(&place).await;
    let newest_first: Vec<String> = (0..23).rev().map(|n| format!("c{n:02}")).collect();
    for limit in [1, 2, 7, 22, 23, 24, 500] {
        let pages = pages(&store, true, limit).await;
        assert!(pages.iter().all(|page| !page.is_empty() && page.len() as u64 <= limit), "{pages:?}");
        assert_eq!(pages.concat(), newest_first, "limit {limit}");
    }
    let open: Vec<String> = (0..23).rev().filter(|n| n % 5 != 0).map(|n| format!("c{n:02}")).collect();
    assert_eq!(pages(&store, false, 4).await.concat(), open);
    let by_default = store.list_conversations(OWNER, ListOptions::default()).await.unwrap();
    assert_eq!((by_default.conversations.len(), by_default.next_cursor), (open.len(), None));
}

#[tokio::test]
async fn a_wrong_limit_or_cursor_is_named() {
    let place = Place::new();
    let store = filled(&place).await;
    for (options, path) in [
        (json!({ "limit": 0 }), "limit"),
        (json!({ "limit": 501 }), "limit"),
        (json!({ "cursor": "" }), "cursor"),
        (json!({ "cursor": "next" }), "cursor"),
        (json!({ "cursor": "c0ffee" }), "cursor"),
    ] {
        let error = assert_code(store.list_conversations(OWNER, from_json(options)).await, ErrorCode::InvalidOptions);
        assert_eq!(error.details, Some(json!({ "path": path })));
    }
}
