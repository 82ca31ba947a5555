-- The names of recorded programs are lost, which sessions belong to others, and what requests lost
-- of the prompt cache.

ALTER TABLE messages DROP COLUMN cache_loss;
ALTER TABLE sessions DROP COLUMN parent_id;
ALTER TABLE sessions DROP COLUMN client;
