-- The edits of a session's requests by hand, as JSON.

ALTER TABLE sessions ADD COLUMN edits TEXT NOT NULL DEFAULT '';
