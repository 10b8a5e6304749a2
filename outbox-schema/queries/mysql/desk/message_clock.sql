-- How a message stands by the database's clock.
SELECT DATE_FORMAT(UTC_TIMESTAMP(6), '%Y-%m-%dT%H:%i:%s.%fZ') AS now, available_at <= UTC_TIMESTAMP(6) AS due,
       TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), available_at) DIV 1000 AS due_in_ms,
       COALESCE(expires_at <= UTC_TIMESTAMP(6), 0) AS expired,
       TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expires_at) DIV 1000 AS expires_in_ms,
       TIMESTAMPDIFF(MICROSECOND, first_attempt_at, UTC_TIMESTAMP(6)) DIV 1000 AS tried_for_ms,
       TIMESTAMPDIFF(MICROSECOND, created_at, COALESCE(deferred_from, available_at)) DIV 1000 AS delayed_by_ms,
       TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), created_at) DIV 1000 AS created_in_ms,
       VERSION() NOT LIKE '%MariaDB%' AS rounds
FROM outbox WHERE id = ?
