-- Full text of attached files: their names, and what is in those of text. Filled by the program as
-- the index of texts is; see 0004. It is no column of the index of asides, so that the words of
-- those are not indexed anew.

CREATE VIRTUAL TABLE attachment_index USING fts5 (words, content = '', tokenize = 'ascii');

CREATE TABLE unindexed_attachments (
  message INTEGER PRIMARY KEY REFERENCES messages (seq) ON DELETE CASCADE
) STRICT;

INSERT INTO unindexed_attachments
  SELECT seq FROM messages WHERE status <> 'streaming' AND parts <> '';
