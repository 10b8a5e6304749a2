-- One that was found to be gone once more since it was chosen by its age stays.
DELETE FROM outbox_invalid_target
WHERE id IN (SELECT value FROM json_each(?1)) AND (?2 IS NULL OR observed_at <= ?2 / 1000)
