-- From a home-made outbox table whose rows name a member, on PostgreSQL: one push by FCM for each device of the member. In
-- home_made.sql it takes the place of the statement that writes the routes and of the view; the way back is home_made_back.sql.
-- Yours is the table of the devices. The id of the device is in the key, so the same push goes once to each.

INSERT INTO outbox_events_route (event_type, channel, target) VALUES
    ('order.shipped', 'push', 'token:')
ON CONFLICT (event_type) DO UPDATE SET channel = excluded.channel, target = excluded.target;

-- Without a device there is no channel, so the row stays with the old publisher.
CREATE OR REPLACE VIEW outbox_from_events AS
    SELECT e.id AS source_id,
           'outbox_events-' || e.id || '-' || d.id AS idempotency_key,
           CASE WHEN d.id IS NOT NULL THEN r.channel END AS channel,
           r.target || d.token AS target,
           -- The payload of the row is {"title": …, "body": …}. Values of data are texts.
           jsonb_build_object('notification', e.payload::jsonb, 'data', jsonb_build_object('event_id', e.id::text)) AS payload,
           NULL::jsonb AS headers,
           NULL::varchar AS ordering_key
    FROM outbox_events e LEFT JOIN outbox_events_route r USING (event_type) LEFT JOIN devices d ON d.member_id = e.aggregate_id;
