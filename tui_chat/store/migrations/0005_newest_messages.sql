-- Finds messages by the time they were said, newest first: that is not the order in which they
-- were stored, since conversations are imported too.

CREATE INDEX messages_created ON messages (created);
