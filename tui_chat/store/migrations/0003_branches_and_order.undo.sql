-- Pins, tags, folders, profiles, revisions and variables are lost. What was deleted, sessions and
-- messages, is there again, since the version before cannot hide anything.

DROP INDEX requests_sent;
ALTER TABLE requests DROP COLUMN copied;
DROP TABLE variables;
DROP TABLE revisions;
DROP TABLE profiles;
DROP TRIGGER message_is_counted_again;
DROP TRIGGER removed_message_is_not_counted;
DROP TRIGGER hidden_message_is_not_counted;
DROP TRIGGER tokens_are_counted;
DROP TRIGGER message_is_counted;
DROP INDEX messages_tree;
CREATE INDEX messages_tally ON messages (session_id, usage_input, usage_output);
DROP TABLE hidden_messages;
DROP TABLE deletions;
DROP INDEX sessions_deleted;
ALTER TABLE sessions DROP COLUMN status;
ALTER TABLE sessions DROP COLUMN total_tokens;
ALTER TABLE sessions DROP COLUMN message_count;
ALTER TABLE sessions DROP COLUMN deleted;
ALTER TABLE sessions DROP COLUMN lorebooks;
ALTER TABLE sessions DROP COLUMN tags;
ALTER TABLE sessions DROP COLUMN folder;
ALTER TABLE sessions DROP COLUMN unread;
ALTER TABLE sessions DROP COLUMN archived;
ALTER TABLE sessions DROP COLUMN pinned;
