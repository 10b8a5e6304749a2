<?php

declare(strict_types=1);

// docs: begin mysql
/** A message with a key that is known already is not sent again. */
function send(PDO $db, string $target, string $key, array $body): void
{
    try {
        $db->prepare('INSERT INTO outbox (channel, target, payload, idempotency_key) VALUES (?, ?, ?, ?)')
            ->execute(['hooks', $target, json_encode($body, JSON_THROW_ON_ERROR), $key]);
    } catch (PDOException $failure) {
        // 1062, a duplicate, has undone its statement only: the transaction goes on.
        if ($failure->errorInfo[1] !== 1062) {
            throw $failure;
        }
    }
}
// docs: end mysql

/** The database counts the seconds: no time zone matters. */
function sendLater(PDO $db, int $seconds, string $target, string $key, array $body): void
{
    $db->prepare('CALL outbox_enqueue(?, ?, ?, ?, ?, @id)')
        ->execute(['hooks', $target, json_encode($body, JSON_THROW_ON_ERROR), $key, json_encode(['delay_seconds' => $seconds])]);
}
