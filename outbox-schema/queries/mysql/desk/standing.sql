-- Those of the asked that are there, locked, so that nobody decides about them meanwhile. The asked come by id. What a
-- transaction of somebody else holds is left out: claims wait for whoever waits here.
SELECT o.id, o.status FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id FOR UPDATE /*!80000 OF o */ SKIP LOCKED
