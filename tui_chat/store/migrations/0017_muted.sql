-- What of each message is muted, as JSON: it is left out of requests. Empty for nothing.

ALTER TABLE messages ADD COLUMN muted TEXT NOT NULL DEFAULT '';
