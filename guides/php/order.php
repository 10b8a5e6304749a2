<?php

declare(strict_types=1);

require __DIR__ . '/database.php';
require __DIR__ . '/' . (getenv('GUIDE_SERVER') === 'postgres' ? 'postgres.php' : 'mysql.php');

$db = connect();
$hook = getenv('TARGET');

/** The order and its message are committed together, or neither is. */
function inTransaction(PDO $db, callable $work, int $tries = 3): void
{
    $db->beginTransaction();
    try {
        $work();
        $db->commit();
    } catch (Throwable $failure) {
        if ($db->inTransaction()) {
            $db->rollBack();
        }
        // 40001: the server rolled the transaction back, as one of several that insert a key at once. So try it again.
        if ($failure->getCode() !== '40001' || $tries === 1) {
            throw $failure;
        }
        inTransaction($db, $work, $tries - 1);
    }
}

function saveOrder(PDO $db, int $id, string $customer): void
{
    $db->prepare('INSERT INTO orders (id, customer) VALUES (?, ?)')->execute([$id, $customer]);
}

// docs: begin placed
inTransaction($db, function () use ($db, $hook) {
    saveOrder($db, 1, 'Jürgen 李 🎉');
    send($db, $hook, 'order-1-placed', [
        'order' => 1,
        'customer' => 'Jürgen 李 🎉',
        'units' => 9007199254740991,
        // Money is a string, so that nobody on the way makes a rounded number of it.
        'total' => '12345678901234567890.12',
    ]);
});
// docs: end placed

try {
    inTransaction($db, function () use ($db, $hook) {
        saveOrder($db, 2, 'Ada');
        send($db, $hook, 'order-2-placed', ['order' => 2]);
        throw new DomainException('the card was declined');
    });
} catch (DomainException $declined) {
    // Neither the order nor its message is there.
}

// A key that is known already: the message is not sent again, and the order is saved.
inTransaction($db, function () use ($db, $hook) {
    saveOrder($db, 3, 'Grace');
    send($db, $hook, 'order-1-placed', ['order' => 1]);
});

inTransaction($db, function () use ($db, $hook) {
    saveOrder($db, 4, 'Edsger');
    sendLater($db, 5, $hook, 'order-4-reminder', ['order' => 4]);
});

inTransaction($db, function () use ($db, $hook) {
    saveOrder($db, 5, 'Barbara');
    $db->prepare('INSERT INTO outbox (channel, target, payload, ordering_key, headers) VALUES (?, ?, ?, ?, ?)')
        ->execute(['hooks', $hook, json_encode(['order' => 5]), 'customer-7', json_encode(['X-Tenant' => '7'])]);
});

inTransaction($db, function () use ($db, $hook) {
    saveOrder($db, 6, 'Ann');
    send($db, $hook, 'order-6-placed', ['order' => 6]);
});
