-- What a look shows of a row: `h`.
SELECT h.id, h.revision, h.priority, h.available_at, h.channel, h.tenant, h.destination, h.ordering_key, h.bytes
