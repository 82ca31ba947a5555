-- How soon replies began is lost; searches take longer.

DROP INDEX sessions_endpoint;
DROP INDEX sessions_model;
DROP INDEX sessions_tagged;
DROP INDEX messages_rare;
DROP INDEX messages_writer;
DROP INDEX messages_facts;
ALTER TABLE messages DROP COLUMN first;
