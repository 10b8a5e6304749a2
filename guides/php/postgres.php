<?php

declare(strict_types=1);

// docs: begin postgres
/** A message with a key that is known already is not sent again. */
function send(PDO $db, string $target, string $key, array $body): void
{
    $db->prepare('INSERT INTO outbox (channel, target, payload, idempotency_key) VALUES (?, ?, ?, ?)
            ON CONFLICT (idempotency_key) DO NOTHING')
        ->execute(['hooks', $target, json_encode($body, JSON_THROW_ON_ERROR), $key]);
}
// docs: end postgres

/** The database counts the seconds: no time zone matters. */
function sendLater(PDO $db, int $seconds, string $target, string $key, array $body): void
{
    $db->prepare('SELECT outbox_enqueue(p_channel => ?, p_target => ?, p_payload => ?, p_idempotency_key => ?,
                                        p_delay_seconds => ?)')
        ->execute(['hooks', $target, json_encode($body, JSON_THROW_ON_ERROR), $key, $seconds]);
}
