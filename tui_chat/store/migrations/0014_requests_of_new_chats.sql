-- What side requests of new chats cost, which have no session yet. Nothing that was written is kept:
-- nobody could delete it.

CREATE TABLE new_chat_requests (
  seq               INTEGER PRIMARY KEY,
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
  priced            TEXT NOT NULL DEFAULT ''
) STRICT;
