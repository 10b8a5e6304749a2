SELECT message_id, is_held FROM outbox_mark_free(p_marks => $1::json, p_claims => $2, p_finished => $3)
