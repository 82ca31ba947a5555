-- The character cards of roles. They are long and seldom read, so the list of roles has none.

CREATE TABLE characters (
  role_id   TEXT PRIMARY KEY REFERENCES roles (role_id) ON DELETE CASCADE,
  character TEXT NOT NULL,
  picture   BLOB NOT NULL DEFAULT x''
) STRICT;
