-- Leaves an empty file.

DROP TABLE settings;
DROP TABLE drafts;
DROP TABLE requests;
DROP TABLE reply_changes;
DROP TABLE messages;
DROP TABLE sessions;
PRAGMA application_id = 0;
