-- What timed out before has longer to answer.
FROM (SELECT max(least(o.deadline_ms, 60000)) + $13::bigint AS closed_ms FROM outbox o
      WHERE o.id = ANY ($5) AND o.deadline_ms IS NOT NULL) longest
CROSS JOIN LATERAL outbox_take_found(
    p_shard => $1, p_epoch => $2, p_holder => $3, p_claim => $4, p_ids => $5, p_revisions => $6, p_channels => $7, p_most_bytes => $8,
    p_at_most_once => $9, p_settling_ms => greatest($10, longest.closed_ms + $10 - $11),
    p_settling_closed_ms => greatest($11, longest.closed_ms)
) due
CROSS JOIN (SELECT $12::boolean AS bodies) wanted
