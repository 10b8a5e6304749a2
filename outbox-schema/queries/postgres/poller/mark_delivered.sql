SELECT outbox_mark_delivered(
    p_claims => $1, p_finished => $2, p_claim => $3, p_ids => $4, p_revisions => $5, p_started_ms => $6, p_status_codes => $7,
    p_receipts => $8
)
