-- A locking read: under REPEATABLE READ another would not see a duplicate that was committed since the snapshot.
SELECT o.id, o.idempotency_key
FROM JSON_TABLE(?, '$[*]' COLUMNS (
    idempotency_key varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$')) AS asked
STRAIGHT_JOIN outbox o FORCE INDEX (outbox_idempotency_key) ON o.idempotency_key = asked.idempotency_key
/*M! LOCK IN SHARE MODE */ /*!80000 FOR SHARE OF o */
