-- The program that a recorded session belongs to, the session that a title call or a subagent
-- belongs to, and what a reply's request lost of the prompt cache.

ALTER TABLE sessions ADD COLUMN client TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN parent_id TEXT NOT NULL DEFAULT '';
ALTER TABLE messages ADD COLUMN cache_loss TEXT NOT NULL DEFAULT '';
