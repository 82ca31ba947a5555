-- A session whose role was deleted keeps its name, so that it can say so.

ALTER TABLE sessions ADD COLUMN lost_role TEXT NOT NULL DEFAULT '';
