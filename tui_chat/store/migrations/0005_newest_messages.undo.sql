-- Nothing is lost: searches for what is newest take longer.

DROP INDEX messages_created;
