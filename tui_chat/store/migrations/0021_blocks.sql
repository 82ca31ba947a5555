-- A message is blocks in order. The columns `parts`, `tool_calls`, `semantics` and `tool_call_id`
-- stay, empty: to drop them would write the table again. `store/blocks_migration.py` fills the new
-- ones.

-- JSON, or empty for a message that is one text or nothing. The text of a message with exactly one
-- is missing in it, since it is `content`.
ALTER TABLE messages ADD COLUMN blocks TEXT NOT NULL DEFAULT '';
-- JSON, or empty: what no protocol sends of a message, and the keys of a captured one.
ALTER TABLE messages ADD COLUMN about TEXT NOT NULL DEFAULT '';
ALTER TABLE messages ADD COLUMN extras TEXT NOT NULL DEFAULT '';

-- What has arrived of replies that a crash cut off is only here: it is converted as well.
DROP INDEX reply_changes_message;
ALTER TABLE reply_changes RENAME TO flat_changes;
CREATE TABLE reply_changes (
  seq        INTEGER PRIMARY KEY,
  message_id TEXT NOT NULL REFERENCES messages (message_id) ON DELETE CASCADE,
  field      TEXT NOT NULL CHECK (field IN ('content', 'blocks', 'about')),
  keep       INTEGER NOT NULL,
  text       TEXT NOT NULL
) STRICT;
CREATE INDEX reply_changes_message ON reply_changes (message_id);
