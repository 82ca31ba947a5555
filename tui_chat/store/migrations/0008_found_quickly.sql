-- How soon a reply began; and indexes for what is looked for among few messages.

-- Seconds from the request's departure to the first word; NULL where unknown.
ALTER TABLE messages ADD COLUMN first REAL;

-- All that a search's filters ask of a message, so that those that do not pass are never read.
CREATE INDEX messages_facts ON messages (
  seq, message_role, model, endpoint, created, session_id
);

-- Who answered. People's messages name nobody.
CREATE INDEX messages_writer ON messages (endpoint, model, created)
  WHERE model <> '' OR endpoint <> '';
CREATE INDEX messages_rare ON messages (message_role, created)
  WHERE message_role IN ('system', 'tool');

CREATE INDEX sessions_tagged ON sessions (tags) WHERE tags <> '';
CREATE INDEX sessions_model ON sessions (model);
CREATE INDEX sessions_endpoint ON sessions (endpoint);
