SELECT outbox_mark($1::json, $2, $3)
