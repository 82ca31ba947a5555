-- Responses as they were received are lost; the replies that were read from them stay.

DROP TABLE received;
