<?php

declare(strict_types=1);

require __DIR__ . '/tries.php';

$db = connect();
$onPostgres = getenv('GUIDE_SERVER') === 'postgres';
$hook = getenv('TARGET');

$tries = new Tries('PDO, PHP ' . PHP_MAJOR_VERSION . '.' . PHP_MINOR_VERSION, 'pdo', function (Closure $work) use ($db) {
    $db->beginTransaction();
    try {
        $db->prepare('INSERT INTO orders (id, customer) VALUES (?, ?)')->execute([nextOrder(), 'Ada']);
        $work();
        $db->commit();
    } catch (Throwable $failure) {
        $db->rollBack();
        throw $failure;
    }
});

$insert = fn (string $into = 'outbox', string $tail = '') => $db->prepare(
    "INSERT INTO $into (channel, target, payload, idempotency_key) VALUES ('hooks', ?, ?, ?) $tail"
);
$insertAt = fn (string $time) => $db->prepare(
    "INSERT INTO outbox (channel, target, payload, idempotency_key, available_at) VALUES ('hooks', ?, ?, ?, $time)"
);

$tries->run('INSERT, json_encode($body)', fn ($key, $body) => $insert()->execute([$hook, json_encode($body), $key]));
$tries->run('INSERT, lastInsertId()', function ($key, $body) use ($insert, $hook, $db) {
    $insert()->execute([$hook, json_encode($body), $key]);
    if ((int) $db->lastInsertId() === 0) {
        throw new UnexpectedValueException('lastInsertId() is 0');
    }
});
$tries->run('named parameters, bindValue()', function ($key, $body) use ($db, $hook) {
    $statement = $db->prepare(
        'INSERT INTO outbox (channel, target, payload, idempotency_key, priority, headers)
         VALUES (:channel, :target, :payload, :key, :priority, :headers)'
    );
    $statement->bindValue('channel', 'hooks');
    $statement->bindValue('target', $hook);
    $statement->bindValue('payload', json_encode($body));
    $statement->bindValue('key', $key);
    $statement->bindValue('priority', 2, PDO::PARAM_INT);
    $statement->bindValue('headers', null, PDO::PARAM_NULL);
    $statement->execute();
});
$tries->run('json_encode() of what is JSON already', fn ($key, $body) => $insert()
    ->execute([$hook, json_encode(json_encode($body)), $key]));
$tries->run('json_encode() of broken UTF-8: false', fn ($key) => $insert()
    ->execute([$hook, json_encode(['customer' => "J\xfcrgen"]), $key]));
$tries->run('an array as it is', fn ($key, $body) => @$insert()->execute([$hook, $body, $key]));
$tries->run('serialize($body)', fn ($key, $body) => $insert()->execute([$hook, serialize($body), $key]));
$tries->run('prepares emulated', function ($key, $body) use ($db, $insert, $hook) {
    $before = $db->getAttribute(PDO::ATTR_EMULATE_PREPARES);
    $db->setAttribute(PDO::ATTR_EMULATE_PREPARES, !$before);
    try {
        $insert()->execute([$hook, json_encode($body), $key]);
    } finally {
        $db->setAttribute(PDO::ATTR_EMULATE_PREPARES, $before);
    }
});
if (getenv('GUIDE_SERVER') !== 'mysql') {
    foreach (['outbox' => ['id', '*'], 'outbox_new' => ['id', '*']] as $into => $returned) {
        foreach ($returned as $columns) {
            $tries->run("INSERT INTO $into … RETURNING $columns", function ($key, $body) use ($insert, $into, $columns, $hook) {
                $statement = $insert($into, "RETURNING $columns");
                $statement->execute([$hook, json_encode($body), $key]);
                $statement->fetchAll();
            });
        }
    }
} else {
    $tries->run('INSERT INTO outbox_new', fn ($key, $body) => $insert('outbox_new')->execute([$hook, json_encode($body), $key]));
}
$tries->run('duplicates ignored: ' . ($onPostgres ? 'ON CONFLICT (idempotency_key) DO NOTHING' : 'error 1062 caught'),
    function ($key, $body) use ($onPostgres, $insert, $hook) {
        for ($time = 0; $time < 2; $time++) {
            try {
                $insert('outbox', $onPostgres ? 'ON CONFLICT (idempotency_key) DO NOTHING' : '')->execute([$hook, json_encode($body), $key]);
            } catch (PDOException $failure) {
                if ($failure->errorInfo[1] !== 1062) {
                    throw $failure;
                }
            }
        }
    });
$tries->run('duplicates ignored: ' . ($onPostgres ? 'error 23505 caught' : 'INSERT IGNORE'),
    function ($key, $body) use ($onPostgres, $insert, $hook, $db) {
        for ($time = 0; $time < 2; $time++) {
            try {
                $statement = $onPostgres ? $insert() : $db->prepare(
                    "INSERT IGNORE INTO outbox (channel, target, payload, idempotency_key) VALUES ('hooks', ?, ?, ?)"
                );
                $statement->execute([$hook, json_encode($body), $key]);
            } catch (PDOException $failure) {
                if ($failure->getCode() !== '23505') {
                    throw $failure;
                }
            }
        }
        $db->query('SELECT 1')->fetchAll();
    });
$tries->run('duplicates ignored: outbox_enqueue', function ($key, $body) use ($onPostgres, $hook, $db) {
    for ($time = 0; $time < 2; $time++) {
        $db->prepare($onPostgres ? "SELECT outbox_enqueue('hooks', ?, ?, ?)" : "CALL outbox_enqueue('hooks', ?, ?, ?, NULL, @id)")
            ->execute([$hook, json_encode($body), $key]);
    }
    $db->query('SELECT 1')->fetchAll();
});
$tries->run('one INSERT of many rows', function ($key, $body) use ($hook, $db) {
    $db->prepare("INSERT INTO outbox (channel, target, payload, idempotency_key) VALUES ('hooks', ?, ?, ?), ('hooks', ?, ?, ?)")
        ->execute([$hook, json_encode($body), $key, $hook, json_encode($body), "$key-second"]);
});
if ($onPostgres) {
    $tries->run('pgsqlCopyFromArray()', fn ($key, $body) => $db->pgsqlCopyFromArray(
        'outbox', ["hooks\t$hook\t" . json_encode($body, JSON_UNESCAPED_UNICODE) . "\t$key"], "\t", '\\\\N',
        'channel, target, payload, idempotency_key'
    ));
}

$inTenMinutes = new DateTimeImmutable('+10 minutes');
$tries->run("date('Y-m-d H:i:s', time() + 600)", fn ($key, $body) => $insertAt('?')
    ->execute([$hook, json_encode($body), $key, date('Y-m-d H:i:s', time() + 600)]), 600);
$tries->run("new DateTime('+10 minutes'), ISO 8601", fn ($key, $body) => $insertAt('?')
    ->execute([$hook, json_encode($body), $key, $inTenMinutes->format(DATE_ATOM)]), 600);
$tries->run("gmdate('Y-m-d H:i:s', time() + 600)", fn ($key, $body) => $insertAt('?')
    ->execute([$hook, json_encode($body), $key, gmdate('Y-m-d H:i:s', time() + 600)]), 600);
$tries->run('now() + 10 minutes, in SQL', fn ($key, $body) => $insertAt(
    $onPostgres ? "now() + interval '10 minutes'" : 'NOW() + INTERVAL 10 MINUTE'
)->execute([$hook, json_encode($body), $key]), 600);
$tries->run('outbox_enqueue, 600 seconds', fn ($key, $body) => $db->prepare(
    $onPostgres
        ? "SELECT outbox_enqueue('hooks', ?, ?, ?, p_delay_seconds => 600)"
        : "CALL outbox_enqueue('hooks', ?, ?, ?, '{\"delay_seconds\": 600}', @id)"
)->execute([$hook, json_encode($body), $key]), 600);
