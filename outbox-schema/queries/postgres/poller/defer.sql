-- Move rows of unknown channels out of the way, which a look met. Their channels are returned.
SELECT deferred.channel
FROM outbox_defer_unknown(p_shard => $1, p_met => $2, p_excluded => '{}', p_channels => $3, p_unknown_ms => $4) deferred
