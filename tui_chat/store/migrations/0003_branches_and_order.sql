-- Sessions put in order (pinned, tagged, in folders, in the trash), messages that can be deleted
-- and brought back, profiles, and all that a request was made of.

ALTER TABLE sessions ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1));
ALTER TABLE sessions ADD COLUMN archived INTEGER NOT NULL DEFAULT 0 CHECK (archived IN (0, 1));
ALTER TABLE sessions ADD COLUMN unread INTEGER NOT NULL DEFAULT 0 CHECK (unread IN (0, 1));
ALTER TABLE sessions ADD COLUMN folder TEXT NOT NULL DEFAULT '';
-- JSON lists of strings, or empty.
ALTER TABLE sessions ADD COLUMN tags TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN lorebooks TEXT NOT NULL DEFAULT '';
-- When it was put into the trash; NULL where it was not.
ALTER TABLE sessions ADD COLUMN deleted REAL;
-- What the list shows, kept by the triggers below: counting a million messages takes too long.
ALTER TABLE sessions ADD COLUMN message_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN total_tokens INTEGER NOT NULL DEFAULT 0;
-- Of the newest reply on the shown branch.
ALTER TABLE sessions ADD COLUMN status TEXT NOT NULL DEFAULT 'complete'
  CHECK (status IN ('streaming', 'complete', 'stopped', 'failed', 'interrupted'));

CREATE INDEX sessions_deleted ON sessions (deleted) WHERE deleted IS NOT NULL;

-- A message that was deleted is hidden, and so is all that follows it, until it is brought back
-- or the trash is emptied. Nothing visible ever follows what is hidden.
CREATE TABLE deletions (
  seq        INTEGER PRIMARY KEY,
  message_id TEXT NOT NULL UNIQUE REFERENCES messages (message_id) ON DELETE CASCADE,
  -- The head that was hidden with it, to be the head again; NULL where another branch was shown.
  head_id    TEXT,
  deleted    REAL NOT NULL
) STRICT;

CREATE TABLE hidden_messages (
  message  INTEGER PRIMARY KEY REFERENCES messages (seq) ON DELETE CASCADE,
  deletion INTEGER NOT NULL REFERENCES deletions (seq) ON DELETE CASCADE
) STRICT;

CREATE INDEX hidden_messages_deletion ON hidden_messages (deletion);

-- Finds siblings, and first messages too, whose parent is NULL.
DROP INDEX messages_tally;
CREATE INDEX messages_tree ON messages (session_id, parent_id);

UPDATE sessions AS s SET
  message_count = (SELECT count(*) FROM messages AS m WHERE m.session_id = s.session_id),
  total_tokens = (
    SELECT CAST(min(total(coalesce(usage_input, 0) + coalesce(usage_output, 0)), 4e18) AS INTEGER)
    FROM messages AS m WHERE m.session_id = s.session_id
  ),
  status = coalesce((
    WITH RECURSIVE up (parent_id, message_role, status) AS (
      SELECT parent_id, message_role, status FROM messages WHERE message_id = s.head_id
      UNION ALL
      SELECT p.parent_id, p.message_role, p.status
      FROM up JOIN messages AS p ON p.message_id = up.parent_id
      WHERE up.message_role <> 'assistant'
    )
    SELECT status FROM up WHERE message_role = 'assistant' LIMIT 1
  ), 'complete');

-- Sums stop short of what SQLite would no longer count in whole numbers.
CREATE TRIGGER message_is_counted AFTER INSERT ON messages BEGIN
  UPDATE sessions SET
    message_count = message_count + 1,
    total_tokens = min(
      total_tokens + coalesce(new.usage_input, 0) + coalesce(new.usage_output, 0),
      4000000000000000000
    )
  WHERE session_id = new.session_id;
END;

CREATE TRIGGER tokens_are_counted AFTER UPDATE OF usage_input, usage_output ON messages
WHEN old.usage_input IS NOT new.usage_input OR old.usage_output IS NOT new.usage_output
BEGIN
  UPDATE sessions SET
    total_tokens = min(
      total_tokens + coalesce(new.usage_input, 0) + coalesce(new.usage_output, 0)
      - coalesce(old.usage_input, 0) - coalesce(old.usage_output, 0),
      4000000000000000000
    )
  WHERE session_id = new.session_id;
END;

CREATE TRIGGER hidden_message_is_not_counted AFTER INSERT ON hidden_messages BEGIN
  UPDATE sessions SET message_count = message_count - 1
  WHERE session_id = (SELECT session_id FROM messages WHERE seq = new.message);
END;

CREATE TRIGGER removed_message_is_not_counted BEFORE DELETE ON messages
WHEN old.seq NOT IN (SELECT message FROM hidden_messages)
BEGIN
  UPDATE sessions SET message_count = message_count - 1 WHERE session_id = old.session_id;
END;

CREATE TRIGGER message_is_counted_again AFTER DELETE ON hidden_messages BEGIN
  UPDATE sessions SET message_count = message_count + 1
  WHERE session_id = (SELECT session_id FROM messages WHERE seq = old.message);
END;

CREATE TABLE profiles (
  seq     INTEGER PRIMARY KEY,
  name    TEXT NOT NULL UNIQUE,
  created REAL NOT NULL,
  updated REAL NOT NULL,
  content TEXT NOT NULL DEFAULT ''
) STRICT;

-- Presets, roles, profiles and lorebooks as requests used them, each kept once.
CREATE TABLE revisions (
  seq     INTEGER PRIMARY KEY,
  sha256  TEXT NOT NULL UNIQUE,
  kind    TEXT NOT NULL,
  created REAL NOT NULL,
  json    TEXT NOT NULL
) STRICT;

-- What presets set with {{setvar}}.
CREATE TABLE variables (
  session_id TEXT NOT NULL REFERENCES sessions (session_id) ON DELETE CASCADE,
  key        TEXT NOT NULL,
  value      TEXT NOT NULL,
  PRIMARY KEY (session_id, key)
) STRICT, WITHOUT ROWID;

-- Requests that were copied with a fork of their session: nobody sent them again.
ALTER TABLE requests ADD COLUMN copied INTEGER NOT NULL DEFAULT 0 CHECK (copied IN (0, 1));
CREATE INDEX requests_sent ON requests (endpoint) WHERE copied = 0;
