-- Of the newest due rows of one priority, those that were never tried. Of those that come due again there may be any number.
FROM (SELECT n.id FROM outbox n FORCE INDEX (outbox_due)
      WHERE n.status = 'PENDING' AND n.shard = ? AND n.ordering_key IS NULL AND n.priority = ?
        AND n.available_at <= UTC_TIMESTAMP(6)
      ORDER BY n.available_at DESC, n.id DESC LIMIT ?) newest
STRAIGHT_JOIN outbox o FORCE INDEX (PRIMARY) ON o.id = newest.id
WHERE o.first_attempt_at IS NULL
