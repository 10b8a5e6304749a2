-- From a home-made outbox table whose rows name a member, on MySQL and MariaDB: one push by FCM for each device of the member. In
-- home_made.sql it takes the place of the statement that writes the routes, of the view and of the function; the way back is
-- home_made_back.sql.
-- Yours is the table of the devices. The id of the device is in the key, so the same push goes once to each.

REPLACE INTO outbox_events_route (event_type, channel, target) VALUES
    ('order.shipped', 'push', 'token:');

CREATE OR REPLACE SQL SECURITY DEFINER VIEW outbox_from_events AS
    SELECT e.id AS source_id,
           CONCAT('outbox_events-', e.id, '-', d.id) AS idempotency_key,
           r.channel,
           CONCAT(r.target, d.token) AS target,
           -- The payload of the row is {"title": …, "body": …}. Values of data are texts.
           JSON_OBJECT('notification', JSON_EXTRACT(CONVERT(e.payload USING utf8mb4), '$'),
                       'data', JSON_OBJECT('event_id', CAST(e.id AS char))) AS payload,
           NULL AS headers,
           NULL AS ordering_key,
           e.status
    FROM outbox_events e LEFT JOIN outbox_events_route r ON r.event_type = e.event_type JOIN devices d ON d.member_id = e.aggregate_id;

-- Without a device the row stays with the old publisher.
DROP FUNCTION IF EXISTS outbox_takes_event;
CREATE FUNCTION outbox_takes_event(
    p_event_type varchar(255) CHARACTER SET utf8mb4, p_aggregate_id varchar(255) CHARACTER SET utf8mb4) RETURNS boolean
READS SQL DATA
RETURN EXISTS (SELECT 1 FROM outbox_events_route r WHERE r.event_type = p_event_type)
   AND EXISTS (SELECT 1 FROM devices d WHERE d.member_id = p_aggregate_id);

