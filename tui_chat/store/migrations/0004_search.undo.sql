-- The indexes can be made again from the messages.

DROP TABLE unindexed_sessions;
DROP TABLE unindexed_messages;
DROP TABLE title_index;
DROP TABLE message_index;
