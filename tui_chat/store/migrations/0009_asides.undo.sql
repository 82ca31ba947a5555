-- Reasoning and tool calls are not searched any more; the index can be made again from them.

DROP TABLE unindexed_asides;
DROP TABLE aside_index;
