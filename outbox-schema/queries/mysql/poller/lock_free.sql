-- Locks those of the asked that nobody else has locked to change them: what somebody has locked is being cancelled in an open
-- transaction, which is not waited for. Shared, so that tries of one claim that overlap do not take each other for that. MariaDB
-- and MySQL each have their own words for it.
SELECT o.id FROM JSON_TABLE(?, '$[*]' COLUMNS (id bigint PATH '$')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = asked.id AND o.status = 'PENDING'
/*M! LOCK IN SHARE MODE */ /*!80000 FOR SHARE OF o */ SKIP LOCKED
