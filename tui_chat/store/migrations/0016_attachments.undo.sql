-- Attached files are not searched any more; the index can be made again from them.

DROP TABLE unindexed_attachments;
DROP TABLE attachment_index;
