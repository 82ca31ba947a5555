-- The requests that wrote titles and summaries, with what they cost, are lost, and which sessions
-- are forks.

DROP TABLE side_requests;
ALTER TABLE sessions DROP COLUMN fork_of;
