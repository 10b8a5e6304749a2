-- For good is 9999-12-31.
WITH now(ms) AS MATERIALIZED (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER))
INSERT INTO outbox_destination (destination, paused_until, paused_by, pause_kind, reason, by_hand_at)
SELECT ?1, coalesce(now.ms + ?2, 253402214400000), ?3, 'hand', ?4, now.ms FROM now WHERE true
ON CONFLICT (destination) DO UPDATE
SET paused_until = excluded.paused_until, paused_by = excluded.paused_by, pause_kind = excluded.pause_kind,
    reason = excluded.reason, by_hand_at = excluded.by_hand_at
