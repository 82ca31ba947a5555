-- The names of deleted roles are lost.

ALTER TABLE sessions DROP COLUMN lost_role;
