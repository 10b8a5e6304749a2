-- Move rows of unknown channels out of the way, which an earlier look met. Their channels are returned.
SELECT deferred.channel
FROM outbox_defer_unknown(p_shard => $1, p_met => $2, p_excluded => $3, p_channels => $4, p_unknown_ms => $5) deferred
