-- What a reply cost, in US dollars as decimal text, and whose prices of which day that follows.

ALTER TABLE messages ADD COLUMN cost TEXT NOT NULL DEFAULT '';
ALTER TABLE messages ADD COLUMN priced TEXT NOT NULL DEFAULT '';
