-- The character cards of roles are lost; the roles keep their names and prompts.

DROP TABLE characters;
