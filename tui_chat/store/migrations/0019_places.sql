-- The names that the user gave places of a session's tree, as JSON. Empty for none.

ALTER TABLE sessions ADD COLUMN places TEXT NOT NULL DEFAULT '';
