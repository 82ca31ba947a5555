-- The title of the session that a session was forked from, and the requests that are no part of a
-- conversation: they wrote a title or a summary.

ALTER TABLE sessions ADD COLUMN fork_of TEXT NOT NULL DEFAULT '';

CREATE TABLE side_requests (
  seq               INTEGER PRIMARY KEY,
  session_id        TEXT NOT NULL REFERENCES sessions (session_id) ON DELETE CASCADE,
  kind              TEXT NOT NULL,
  endpoint          TEXT NOT NULL,
  model             TEXT NOT NULL,
  status            TEXT NOT NULL,
  created           REAL NOT NULL,
  usage_input       INTEGER,
  usage_output      INTEGER,
  usage_cached      INTEGER,
  usage_cache_write INTEGER,
  usage_reasoning   INTEGER,
  cost              TEXT NOT NULL DEFAULT '',
  priced            TEXT NOT NULL DEFAULT '',
  error             TEXT NOT NULL DEFAULT '',
  reply             TEXT NOT NULL DEFAULT '',
  body              BLOB
) STRICT;

CREATE INDEX side_requests_session ON side_requests (session_id);
