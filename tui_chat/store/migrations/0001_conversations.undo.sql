-- Leaves an empty file.

DROP TABLE settings;
DROP TABLE drafts;
DROP TABLE requests;
DROP TABLE pieces;
DROP TABLE messages;
DROP TABLE sessions;
PRAGMA application_id = 0;
