-- All settings but temperature and reply limit are lost.

UPDATE sessions SET
  temperature = json_extract(settings, '$.temperature'),
  max_tokens = json_extract(settings, '$.max_tokens')
  WHERE settings <> '' AND json_valid(settings);
UPDATE roles SET
  temperature = json_extract(settings, '$.temperature'),
  max_tokens = json_extract(settings, '$.max_tokens')
  WHERE settings <> '' AND json_valid(settings);

ALTER TABLE sessions DROP COLUMN settings;
ALTER TABLE roles DROP COLUMN settings;
