-- Those of the asked that wait. Nobody else has locked any: whoever writes has locked the file.
SELECT o.id FROM json_each(?1) asked CROSS JOIN outbox o ON o.id = asked.value AND o.status = 'PENDING'
