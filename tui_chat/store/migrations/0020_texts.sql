-- One index of full text, which holds its text; what belongs to a session, as columns of it; and
-- deleted messages as a column of them.

ALTER TABLE sessions ADD COLUMN draft TEXT NOT NULL DEFAULT '';
-- The paths of the files that are attached to the draft, a line each.
ALTER TABLE sessions ADD COLUMN files TEXT NOT NULL DEFAULT '';
-- JSON, or empty: messages that wait for the reply before them, names of the chosen tools, and the
-- macro variables by name.
ALTER TABLE sessions ADD COLUMN queue TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN tools TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN variables TEXT NOT NULL DEFAULT '';

UPDATE sessions SET
  draft = coalesce((SELECT text FROM drafts AS d WHERE d.session_id = sessions.session_id), ''),
  files = coalesce((SELECT value FROM settings WHERE key = 'files:' || session_id), ''),
  queue = coalesce((SELECT value FROM settings WHERE key = 'queue:' || session_id), ''),
  tools = coalesce((SELECT value FROM settings WHERE key = 'tools/' || session_id), ''),
  variables = coalesce((
    SELECT nullif(json_group_object(key, value), '{}') FROM variables AS v
    WHERE v.session_id = sessions.session_id
  ), '');
DELETE FROM settings
  WHERE key LIKE 'files:%' OR key LIKE 'queue:%' OR key LIKE 'tools/%';
DROP TABLE drafts;
DROP TABLE variables;

-- Older programs only counted `touched` up: it becomes a time, in the same order.
UPDATE sessions SET touched = timed.touched
FROM (
  SELECT seq, row_number() OVER by_touch
    + max(CAST(min(updated, CAST(strftime('%s') AS INTEGER)) * 1000 AS INTEGER)) OVER by_touch AS touched
  FROM sessions WINDOW by_touch AS (ORDER BY touched, seq)
) AS timed
WHERE timed.seq = sessions.seq AND (
  SELECT touched < min(updated, CAST(strftime('%s') AS INTEGER)) FROM sessions ORDER BY touched LIMIT 1
);

-- The deletion that hides a message; NULL for a visible one.
ALTER TABLE messages ADD COLUMN hidden INTEGER REFERENCES deletions (seq) ON DELETE SET NULL;
UPDATE messages SET hidden = (SELECT deletion FROM hidden_messages WHERE message = seq)
  WHERE seq IN (SELECT message FROM hidden_messages);
DROP TRIGGER removed_message_is_not_counted;
DROP TABLE hidden_messages;
CREATE INDEX messages_hidden ON messages (hidden) WHERE hidden IS NOT NULL;

CREATE TRIGGER hiding_is_counted AFTER UPDATE OF hidden ON messages
WHEN (old.hidden IS NULL) <> (new.hidden IS NULL)
BEGIN
  UPDATE sessions SET message_count = message_count + iif(new.hidden IS NULL, 1, -1)
  WHERE session_id = new.session_id;
END;

CREATE TRIGGER removed_message_is_not_counted BEFORE DELETE ON messages WHEN old.hidden IS NULL
BEGIN
  UPDATE sessions SET message_count = message_count - 1 WHERE session_id = old.session_id;
END;

-- These have all that trees and the filters of a search ask of a message, so that long rows, in
-- which `hidden` stands behind the text, are not read.
DROP INDEX messages_tree;
CREATE INDEX messages_tree ON messages (session_id, parent_id, hidden);
DROP INDEX messages_facts;
CREATE INDEX messages_facts ON messages (
  seq, message_role, model, endpoint, created, session_id, hidden
);
DROP INDEX messages_created;
CREATE INDEX messages_created ON messages (
  created, message_role, model, endpoint, session_id, hidden, status
);
DROP INDEX messages_writer;
DROP INDEX messages_rare;
DROP INDEX sessions_tagged;
DROP INDEX sessions_model;
DROP INDEX sessions_endpoint;

DROP TABLE message_index;
DROP TABLE title_index;
DROP TABLE aside_index;
DROP TABLE attachment_index;
DROP TABLE unindexed_messages;
DROP TABLE unindexed_sessions;
DROP TABLE unindexed_asides;
DROP TABLE unindexed_attachments;

-- `rowid` is the `seq` of a message that is complete, minus that of a session for its title, and
-- -2^40 minus that of a role for its name. Rows are added by the program: see store/index.py. One
-- letter of a script without spaces is looked up as a prefix of its pairs.
CREATE VIRTUAL TABLE texts USING fts5 (
  text, reasoning, calls, refusal, files,
  prefix = '1',
  tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
);

CREATE TRIGGER message_text_is_removed AFTER DELETE ON messages BEGIN
  DELETE FROM texts WHERE rowid = old.seq;
END;
CREATE TRIGGER title_text_is_removed AFTER DELETE ON sessions BEGIN
  DELETE FROM texts WHERE rowid = -old.seq;
END;
CREATE TRIGGER role_text_is_removed AFTER DELETE ON roles BEGIN
  DELETE FROM texts WHERE rowid = -1099511627776 - old.seq;
END;
