-- The costs of replies are lost.

ALTER TABLE messages DROP COLUMN priced;
ALTER TABLE messages DROP COLUMN cost;
