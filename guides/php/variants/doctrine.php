<?php

declare(strict_types=1);

use Doctrine\DBAL\DriverManager;
use Doctrine\DBAL\Exception\UniqueConstraintViolationException;
use Doctrine\DBAL\Types\Types;
use Doctrine\ORM\EntityManager;
use Doctrine\ORM\Mapping as ORM;
use Doctrine\ORM\ORMSetup;

require __DIR__ . '/tries.php';
$libraries = getenv('GUIDE_TARGET') . '/libraries/usr/share/php';
require "$libraries/Doctrine/ORM/autoload.php";

date_default_timezone_set('Asia/Seoul');
$onPostgres = getenv('GUIDE_SERVER') === 'postgres';
$hook = getenv('TARGET');

#[ORM\MappedSuperclass]
abstract class Message
{
    #[ORM\Column(length: 64)]
    public string $channel = 'hooks';

    #[ORM\Column(type: Types::TEXT)]
    public string $target;

    /** What is passed by mistake for an array is text. */
    #[ORM\Column(type: Types::JSON)]
    public array|string $payload;
}

abstract class KeyedMessage extends Message
{
    #[ORM\Id]
    #[ORM\Column(name: 'idempotency_key')]
    public string $idempotencyKey;
}

#[ORM\Entity]
#[ORM\Table(name: 'outbox')]
class OutboxMessage extends KeyedMessage
{
}

#[ORM\Entity]
#[ORM\Table(name: 'outbox_new')]
class OutboxNewMessage extends KeyedMessage
{
}

#[ORM\Entity]
#[ORM\Table(name: 'outbox')]
class NumberedMessage extends Message
{
    #[ORM\Id]
    #[ORM\Column(type: Types::BIGINT)]
    #[ORM\GeneratedValue(strategy: 'IDENTITY')]
    public ?int $id = null;

    #[ORM\Column(name: 'idempotency_key')]
    public string $idempotencyKey;
}

#[ORM\Entity]
#[ORM\Table(name: 'outbox')]
class WideMessage extends KeyedMessage
{
    #[ORM\Column(type: Types::JSON, nullable: true)]
    public ?array $headers = null;

    #[ORM\Column(name: 'ordering_key', nullable: true)]
    public ?string $orderingKey = null;

    #[ORM\Column(type: Types::SMALLINT, nullable: true)]
    public ?int $priority = null;
}

#[ORM\Entity]
#[ORM\Table(name: 'outbox')]
class ReadBackMessage extends KeyedMessage
{
    #[ORM\Column(insertable: false, updatable: false, generated: 'INSERT')]
    public ?string $status = null;
}

#[ORM\Entity]
#[ORM\Table(name: 'outbox')]
class DelayedMessage extends KeyedMessage
{
    #[ORM\Column(name: 'available_at', type: Types::DATETIME_IMMUTABLE)]
    public DateTimeImmutable $availableAt;
}

#[ORM\Entity]
#[ORM\Table(name: 'outbox')]
class DelayedWithZoneMessage extends KeyedMessage
{
    #[ORM\Column(name: 'available_at', type: Types::DATETIMETZ_IMMUTABLE)]
    public DateTimeImmutable $availableAt;
}

$connection = DriverManager::getConnection([
    'driver' => $onPostgres ? 'pdo_pgsql' : 'pdo_mysql',
    'host' => getenv('DB_HOST'),
    'port' => (int) getenv('DB_PORT'),
    'dbname' => getenv('DB_NAME'),
    'user' => getenv('DB_USER'),
    'password' => getenv('DB_PASSWORD'),
    'charset' => $onPostgres ? 'utf8' : 'utf8mb4',
]);
$configuration = ORMSetup::createAttributeMetadataConfiguration([__FILE__], true);
// A flush that fails closes its entity manager.
$manager = fn () => new EntityManager($connection, $configuration);

$transaction = fn (Closure $work) => $connection->transactional(function () use ($connection, $work) {
    $connection->insert('orders', ['id' => nextOrder(), 'customer' => 'Ada']);
    $work();
});
$save = function (string $class, string $key, array|string $body, array $more = []) use ($manager, $hook) {
    $message = new $class();
    $message->idempotencyKey = $key;
    $message->target = $hook;
    $message->payload = $body;
    foreach ($more as $property => $value) {
        $message->$property = $value;
    }
    $entities = $manager();
    $entities->persist($message);
    $entities->flush();
};

$tries = new Tries('Doctrine ORM 3', 'orm', $transaction);
$tries->run('persist(), key as id', fn ($key, $body) => $save(OutboxMessage::class, $key, $body));
$tries->run('persist() on outbox_new', fn ($key, $body) => $save(OutboxNewMessage::class, $key, $body));
$tries->run("persist(), #[GeneratedValue('IDENTITY')]", fn ($key, $body) => $save(NumberedMessage::class, $key, $body));
$tries->run('persist() of two', function ($key, $body) use ($manager, $hook) {
    $entities = $manager();
    foreach (['', '-second'] as $suffix) {
        $message = new OutboxMessage();
        $message->idempotencyKey = "$key$suffix";
        $message->target = $hook;
        $message->payload = $body;
        $entities->persist($message);
    }
    $entities->flush();
});
$tries->run('nullable columns left unset', fn ($key, $body) => $save(WideMessage::class, $key, $body));
$tries->run('nullable columns set', fn ($key, $body) => $save(WideMessage::class, $key, $body, [
    'priority' => 2, 'headers' => ['X-Tenant' => '7'],
]));
$tries->run("generated: 'INSERT', read back", fn ($key, $body) => $save(ReadBackMessage::class, $key, $body));
$tries->run('json_encode() beside Types::JSON', fn ($key, $body) => $save(OutboxMessage::class, $key, json_encode($body)));
$tries->run('a duplicate caught at flush', function ($key, $body) use ($save, $connection) {
    $save(OutboxMessage::class, $key, $body);
    try {
        $save(OutboxMessage::class, $key, $body);
    } catch (UniqueConstraintViolationException) {
    }
    $connection->fetchOne('SELECT 1');
});
$tries->run("new DateTimeImmutable('+10 minutes'), DATETIME", fn ($key, $body) => $save(DelayedMessage::class, $key, $body, [
    'availableAt' => new DateTimeImmutable('+10 minutes'),
]), 600);
$tries->run("new DateTimeImmutable('+10 minutes'), DATETIMETZ", fn ($key, $body) => $save(
    DelayedWithZoneMessage::class, $key, $body, ['availableAt' => new DateTimeImmutable('+10 minutes')]
), 600);
$tries->run("new DateTimeImmutable('+10 minutes', UTC), DATETIMETZ", fn ($key, $body) => $save(DelayedWithZoneMessage::class, $key, $body, [
    'availableAt' => new DateTimeImmutable('+10 minutes', new DateTimeZone('UTC')),
]), 600);

$tries = new Tries('Doctrine DBAL 4', 'dbal', $transaction);
$row = fn (string $key, mixed $payload) => [
    'idempotency_key' => $key, 'channel' => 'hooks', 'target' => $hook, 'payload' => $payload,
];
$tries->run('insert(), json_encode', fn ($key, $body) => $connection->insert('outbox', $row($key, json_encode($body))));
$tries->run('insert(), Types::JSON', fn ($key, $body) => $connection->insert('outbox', $row($key, $body), ['payload' => Types::JSON]));
$tries->run('json_encode() beside Types::JSON', fn ($key, $body) => $connection->insert(
    'outbox', $row($key, json_encode($body)), ['payload' => Types::JSON]
));
$tries->run('insert(), lastInsertId()', function ($key, $body) use ($connection, $row) {
    $connection->insert('outbox', $row($key, json_encode($body)));
    $connection->lastInsertId();
});
$tries->run('outbox_enqueue, 600 seconds', fn ($key, $body) => $connection->executeStatement(
    $onPostgres
        ? "SELECT outbox_enqueue('hooks', ?, ?, ?, p_delay_seconds => 600)"
        : "CALL outbox_enqueue('hooks', ?, ?, ?, '{\"delay_seconds\": 600}', @id)",
    [$hook, json_encode($body), $key]
), 600);
