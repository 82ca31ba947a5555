-- Full text of what stands beside the text of messages: reasoning, tool calls and refusals. Filled
-- by the program as the index of texts is; see 0004.

CREATE VIRTUAL TABLE aside_index USING fts5 (
  reasoning, calls, refusals, content = '', tokenize = 'ascii'
);

CREATE TABLE unindexed_asides (
  message INTEGER PRIMARY KEY REFERENCES messages (seq) ON DELETE CASCADE
) STRICT;

INSERT INTO unindexed_asides
  SELECT seq FROM messages WHERE status <> 'streaming' AND (tool_calls <> '' OR semantics <> '');
