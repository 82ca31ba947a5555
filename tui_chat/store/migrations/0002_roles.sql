-- Named assistants. Sessions from before have none.

CREATE TABLE roles (
  seq           INTEGER PRIMARY KEY,
  role_id       TEXT NOT NULL UNIQUE,
  name          TEXT NOT NULL,
  model         TEXT NOT NULL DEFAULT '',
  preset        TEXT NOT NULL DEFAULT '',
  temperature   REAL,
  max_tokens    INTEGER,
  status        TEXT NOT NULL DEFAULT 'enabled' CHECK (status IN ('enabled', 'disabled')),
  created       REAL NOT NULL,
  updated       REAL NOT NULL,
  system_prompt TEXT NOT NULL DEFAULT ''
) STRICT;

ALTER TABLE sessions ADD COLUMN role_id TEXT REFERENCES roles (role_id) ON DELETE SET NULL;
CREATE INDEX sessions_role ON sessions (role_id);
