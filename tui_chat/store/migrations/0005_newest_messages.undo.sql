DROP INDEX messages_created;
