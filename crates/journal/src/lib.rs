//! Where conversations live: the store's trait, the form of committed updates, and the SQLite store.

mod chunk;
mod sqlite;
mod store;

pub use chunk::{Chunk, ChunkBuilder, ChunkPiece, ChunkUpdate};
pub use sqlite::{BatchPolicy, Durability, SqliteOptions, SqliteStore};
pub use store::{AppendDone, ConversationStore, UpdateBatch};
