-- The roles are lost; their sessions stay, without one.

DROP INDEX sessions_role;
ALTER TABLE sessions DROP COLUMN role_id;
DROP TABLE roles;
