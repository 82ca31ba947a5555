-- Sessions, their messages, the requests that produced replies, and what the program remembers.
--
-- Every table has `seq`, the order in which rows were made. Order is never taken from the
-- clock, because a clock may go backwards. Rows are known to the program by their text ids.
-- Wide columns stand last: SQLite reads a row from its beginning and stops where it may.

PRAGMA application_id = 0x74756943;  -- "tuiC"

CREATE TABLE sessions (
  seq         INTEGER PRIMARY KEY,
  session_id  TEXT NOT NULL UNIQUE,
  title       TEXT NOT NULL,
  model       TEXT NOT NULL DEFAULT '',
  endpoint    TEXT NOT NULL DEFAULT '',
  preset      TEXT NOT NULL DEFAULT '',
  profile     TEXT NOT NULL DEFAULT '',
  temperature REAL,
  max_tokens  INTEGER,
  -- The last message of the branch that is shown.
  head_id     TEXT REFERENCES messages (message_id) DEFERRABLE INITIALLY DEFERRED,
  -- Counts up over all sessions: the one with the highest was active last.
  touched     INTEGER NOT NULL,
  created     REAL NOT NULL,
  updated     REAL NOT NULL
) STRICT;

CREATE INDEX sessions_touched ON sessions (touched);
CREATE INDEX sessions_head ON sessions (head_id);

-- A tree: edits and regenerations are siblings.
CREATE TABLE messages (
  seq               INTEGER PRIMARY KEY,
  message_id        TEXT NOT NULL UNIQUE,
  session_id        TEXT NOT NULL REFERENCES sessions (session_id) ON DELETE CASCADE,
  -- No cascade here: SQLite allows 1,000 levels of it and a branch may be longer.
  parent_id         TEXT REFERENCES messages (message_id) DEFERRABLE INITIALLY DEFERRED,
  message_role      TEXT NOT NULL CHECK (message_role IN ('system', 'user', 'assistant', 'tool')),
  status            TEXT NOT NULL DEFAULT 'complete'
                    CHECK (status IN ('streaming', 'complete', 'stopped', 'failed', 'interrupted')),
  -- While streaming: the running program that receives it. Empty otherwise.
  owner             TEXT NOT NULL DEFAULT '',
  pinned            INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
  timestamp         REAL,
  created           REAL NOT NULL,
  seconds           REAL,
  model             TEXT NOT NULL DEFAULT '',
  endpoint          TEXT NOT NULL DEFAULT '',
  usage_input       INTEGER,
  usage_output      INTEGER,
  usage_cached      INTEGER,
  usage_cache_write INTEGER,
  usage_reasoning   INTEGER,
  finish            TEXT NOT NULL DEFAULT '',
  tool_call_id      TEXT NOT NULL DEFAULT '',
  name              TEXT NOT NULL DEFAULT '',
  error             TEXT NOT NULL DEFAULT '',
  advice            TEXT NOT NULL DEFAULT '',
  -- JSON, or empty where there is nothing to say.
  tool_calls        TEXT NOT NULL DEFAULT '',
  semantics         TEXT NOT NULL DEFAULT '',
  parts             TEXT NOT NULL DEFAULT '',
  content           TEXT NOT NULL DEFAULT ''
) STRICT;

-- Holds all that the session list counts, so that it never reads the messages themselves.
CREATE INDEX messages_tally ON messages (session_id, usage_input, usage_output);
CREATE INDEX messages_parent ON messages (parent_id);
CREATE INDEX messages_streaming ON messages (owner) WHERE status = 'streaming';

-- A streaming reply as it grows: in order, each change says that the field is now its first
-- `keep` characters followed by `text`. Folded into `messages` when the reply ends.
CREATE TABLE reply_changes (
  seq        INTEGER PRIMARY KEY,
  message_id TEXT NOT NULL REFERENCES messages (message_id) ON DELETE CASCADE,
  field      TEXT NOT NULL CHECK (field IN ('content', 'parts', 'tool_calls', 'semantics')),
  keep       INTEGER NOT NULL,
  text       TEXT NOT NULL
) STRICT;

CREATE INDEX reply_changes_message ON reply_changes (message_id);

CREATE TABLE requests (
  seq        INTEGER PRIMARY KEY,
  message_id TEXT NOT NULL REFERENCES messages (message_id) ON DELETE CASCADE,
  endpoint   TEXT NOT NULL,
  protocol   TEXT NOT NULL,
  method     TEXT NOT NULL,
  url        TEXT NOT NULL,
  sha256     TEXT NOT NULL,
  created    REAL NOT NULL,
  recipe     TEXT NOT NULL,
  body       BLOB
) STRICT;

CREATE INDEX requests_message ON requests (message_id);
CREATE INDEX requests_with_body ON requests (seq) WHERE body IS NOT NULL;

CREATE TABLE drafts (
  session_id TEXT PRIMARY KEY REFERENCES sessions (session_id) ON DELETE CASCADE,
  text       TEXT NOT NULL
) STRICT;

CREATE TABLE settings (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;
