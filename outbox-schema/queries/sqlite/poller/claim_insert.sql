INSERT INTO outbox_claim (id, shard, epoch, holder, message_ids, revisions, claimed_at, settling_ms, settling_closed_ms,
                          at_most_once)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, CAST(round(unixepoch('subsec') * 1000) AS INTEGER), ?7, ?8, ?9)
