-- What side requests of new chats cost is lost.

DROP TABLE new_chat_requests;
