SELECT outbox_mark(p_marks => $1::json, p_claims => $2, p_finished => $3)
