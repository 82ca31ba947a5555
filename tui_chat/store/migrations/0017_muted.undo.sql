-- What was muted is sent again.

ALTER TABLE messages DROP COLUMN muted;
