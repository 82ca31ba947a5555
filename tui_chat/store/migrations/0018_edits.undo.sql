-- Edits of requests by hand are lost.

ALTER TABLE sessions DROP COLUMN edits;
