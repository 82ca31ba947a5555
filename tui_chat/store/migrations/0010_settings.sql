-- All settings of a session and a role are in one JSON object. The columns that had two of them
-- stay, empty, so that an undo gives the tables their old form.

ALTER TABLE sessions ADD COLUMN settings TEXT NOT NULL DEFAULT '';
ALTER TABLE roles ADD COLUMN settings TEXT NOT NULL DEFAULT '';

UPDATE sessions SET
  settings = json_patch('{}', json_object('temperature', temperature, 'max_tokens', max_tokens)),
  temperature = NULL, max_tokens = NULL
  WHERE temperature IS NOT NULL OR max_tokens IS NOT NULL;
UPDATE roles SET
  settings = json_patch('{}', json_object('temperature', temperature, 'max_tokens', max_tokens)),
  temperature = NULL, max_tokens = NULL
  WHERE temperature IS NOT NULL OR max_tokens IS NOT NULL;
