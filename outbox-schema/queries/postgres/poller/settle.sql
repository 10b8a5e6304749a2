SELECT message_id, destination, crashed, resend FROM outbox_settle(
    p_shard => $1, p_epoch => $2, p_holder => $3, p_channels => $4, p_resend => $5, p_max_attempts => $6
)
