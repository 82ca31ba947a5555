-- The names of places in the trees of sessions are lost.

ALTER TABLE sessions DROP COLUMN places;
