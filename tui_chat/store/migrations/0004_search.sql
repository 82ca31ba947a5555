-- Full text of messages and titles. The indexes hold words only and no text; what they call a
-- word is said in words.py, so rows are put in and taken out by the program.

CREATE VIRTUAL TABLE message_index USING fts5 (words, content = '', tokenize = 'ascii');
CREATE VIRTUAL TABLE title_index USING fts5 (words, content = '', tokenize = 'ascii');

-- What is still to be put into the indexes: here, all that was there before them.
CREATE TABLE unindexed_messages (
  message INTEGER PRIMARY KEY REFERENCES messages (seq) ON DELETE CASCADE
) STRICT;
CREATE TABLE unindexed_sessions (
  session INTEGER PRIMARY KEY REFERENCES sessions (seq) ON DELETE CASCADE
) STRICT;

INSERT INTO unindexed_messages SELECT seq FROM messages WHERE status <> 'streaming';
INSERT INTO unindexed_sessions SELECT seq FROM sessions;
