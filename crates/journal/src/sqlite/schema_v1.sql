-- Times are ISO 8601 in UTC with milliseconds, so that their order as text is their order in time.
-- What the store only hands on is JSON text; what it selects by has a column of its own.

CREATE TABLE conversations (
    owner        TEXT    NOT NULL,
    id           TEXT    NOT NULL,
    title        TEXT,
    agent        TEXT    NOT NULL,
    execution    TEXT    NOT NULL,
    created_at   TEXT    NOT NULL,
    updated_at   TEXT    NOT NULL,
    archived_at  TEXT,
    new_messages INTEGER NOT NULL CHECK (new_messages IN (0, 1)),
    PRIMARY KEY (owner, id)
) STRICT;

CREATE INDEX conversations_by_update ON conversations (owner, updated_at, id);

CREATE TABLE turns (
    -- What the journal's rows refer to: short, since there are many.
    key                INTEGER PRIMARY KEY,
    owner              TEXT    NOT NULL,
    id                 TEXT    NOT NULL,
    conversation_id    TEXT    NOT NULL,
    ordinal            INTEGER NOT NULL CHECK (ordinal > 0),
    status             TEXT    NOT NULL CHECK (status IN ('running', 'completed', 'failed', 'cancelled', 'interrupted')),
    origin             TEXT    NOT NULL CHECK (origin IN ('host', 'agent')),
    stop_reason        TEXT,
    native_stop_reason TEXT,
    error              TEXT,
    execution          TEXT    NOT NULL,
    prompt             TEXT    NOT NULL,
    started_at         TEXT    NOT NULL,
    ended_at           TEXT,
    usage              TEXT,
    -- The host that drives it or drove it last; no foreign key, since a host's row goes when the host does.
    host               TEXT    NOT NULL,
    UNIQUE (owner, id),
    UNIQUE (owner, conversation_id, ordinal),
    FOREIGN KEY (owner, conversation_id) REFERENCES conversations (owner, id)
) STRICT;

CREATE UNIQUE INDEX one_running_turn ON turns (owner, conversation_id) WHERE status = 'running';

CREATE TABLE journal (
    turn   INTEGER NOT NULL REFERENCES turns (key),
    -- The sequences of the first and last update that the row holds.
    first  INTEGER NOT NULL CHECK (first > 0),
    last   INTEGER NOT NULL CHECK (last >= first),
    -- 0: the updates as text, separated by newlines. 1: the same, compressed with zstd.
    format INTEGER NOT NULL,
    -- Of the text.
    bytes  INTEGER NOT NULL,
    data   BLOB    NOT NULL,
    UNIQUE (turn, last)
) STRICT;

CREATE TABLE messages (
    owner           TEXT    NOT NULL,
    id              TEXT    NOT NULL,
    conversation_id TEXT    NOT NULL,
    turn_id         TEXT    NOT NULL,
    ordinal         INTEGER NOT NULL CHECK (ordinal > 0),
    role            TEXT    NOT NULL CHECK (role IN ('user', 'assistant')),
    parts           TEXT    NOT NULL,
    created_at      TEXT    NOT NULL,
    PRIMARY KEY (owner, id),
    UNIQUE (owner, conversation_id, ordinal),
    FOREIGN KEY (owner, turn_id) REFERENCES turns (owner, id)
) STRICT;

CREATE TABLE usage_steps (
    owner   TEXT    NOT NULL,
    turn_id TEXT    NOT NULL,
    number  INTEGER NOT NULL,
    step    TEXT    NOT NULL,
    PRIMARY KEY (owner, turn_id, number),
    FOREIGN KEY (owner, turn_id) REFERENCES turns (owner, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE checkpoints (
    owner               TEXT NOT NULL,
    conversation_id     TEXT NOT NULL,
    key                 TEXT NOT NULL,
    provider_session_id TEXT NOT NULL,
    updated_at          TEXT NOT NULL,
    data                TEXT NOT NULL,
    PRIMARY KEY (owner, conversation_id, key),
    FOREIGN KEY (owner, conversation_id) REFERENCES conversations (owner, id)
) STRICT, WITHOUT ROWID;

-- Who has this database open. A turn whose host has no row, or a dead one, is left over.
CREATE TABLE hosts (
    id        TEXT    NOT NULL PRIMARY KEY,
    pid       INTEGER NOT NULL,
    started   INTEGER NOT NULL,
    -- Within one boot and one namespace of process ids, pid and start name a process.
    boot      TEXT    NOT NULL,
    namespace TEXT    NOT NULL,
    machine   TEXT    NOT NULL,
    -- Milliseconds since 1970.
    heartbeat INTEGER NOT NULL
) STRICT;
