-- Responses as they were received, of the newest replies.

CREATE TABLE received (
  seq        INTEGER PRIMARY KEY,
  message_id TEXT NOT NULL UNIQUE REFERENCES messages (message_id) ON DELETE CASCADE,
  status     INTEGER NOT NULL,
  media      TEXT NOT NULL,
  -- How many bytes came; body has the newest of them.
  size       INTEGER NOT NULL,
  -- JSON: [[milliseconds, bytes so far], ...]
  times      TEXT NOT NULL,
  body       BLOB NOT NULL
) STRICT;
