<?php

declare(strict_types=1);

use Illuminate\Database\Capsule\Manager as DB;
use Illuminate\Database\Eloquent\Model;
use Illuminate\Database\UniqueConstraintViolationException;
use Illuminate\Support\Carbon;

require __DIR__ . '/tries.php';
$libraries = getenv('GUIDE_TARGET') . '/libraries/usr/share/php';
require "$libraries/Illuminate/Database/autoload.php";

// As config/app.php of an application in Seoul says it.
date_default_timezone_set('Asia/Seoul');

$capsule = new DB();
$capsule->addConnection([
    'driver' => getenv('GUIDE_SERVER') === 'postgres' ? 'pgsql' : 'mysql',
    'host' => getenv('DB_HOST'),
    'port' => getenv('DB_PORT'),
    'database' => getenv('DB_NAME'),
    'username' => getenv('DB_USER'),
    'password' => getenv('DB_PASSWORD'),
    'charset' => getenv('GUIDE_SERVER') === 'postgres' ? 'utf8' : 'utf8mb4',
]);
$capsule->setAsGlobal();
$capsule->bootEloquent();

/** As `php artisan make:model` writes it. */
class GeneratedMessage extends Model
{
    protected $table = 'outbox';
    protected $guarded = [];
    protected $casts = ['payload' => 'array', 'headers' => 'array', 'available_at' => 'datetime'];
}

class Message extends GeneratedMessage
{
    public $timestamps = false;
}

class CreatedMessage extends GeneratedMessage
{
    public const UPDATED_AT = null;
}

class KeyedMessage extends Message
{
    protected $primaryKey = 'idempotency_key';
    protected $keyType = 'string';
    public $incrementing = false;
}

class NewMessage extends Message
{
    protected $table = 'outbox_new';
}

class NewKeyedMessage extends KeyedMessage
{
    protected $table = 'outbox_new';
}

$tries = new Tries('Laravel 10, Eloquent', 'eloquent', fn (Closure $work) => DB::connection()->transaction(function () use ($work) {
    DB::table('orders')->insert(['id' => nextOrder(), 'customer' => 'Ada']);
    $work();
}));

$hook = getenv('TARGET');
$message = fn (string $key, array $body, array $more = []) => [
    'idempotency_key' => $key, 'channel' => 'hooks', 'target' => $hook, 'payload' => $body, ...$more,
];
$row = fn (string $key, array $body, array $more = []) => $message($key, $body, ['payload' => json_encode($body), ...$more]);

$tries->run('Model::create(), model as generated', fn ($key, $body) => GeneratedMessage::create($message($key, $body)));
$tries->run('create(), UPDATED_AT = null', fn ($key, $body) => CreatedMessage::create($message($key, $body)));
$tries->run('create(), $timestamps = false', fn ($key, $body) => Message::create($message($key, $body)));
$tries->run('create() on outbox_new', fn ($key, $body) => NewMessage::create($message($key, $body)));
$tries->run('create(), key as primary key', fn ($key, $body) => KeyedMessage::create($message($key, $body)));
$tries->run('new Model, save()', function ($key, $body) use ($hook) {
    $model = new Message();
    $model->channel = 'hooks';
    $model->target = $hook;
    $model->payload = $body;
    $model->idempotency_key = $key;
    $model->save();
});
$tries->run('create(), then refresh()', fn ($key, $body) => Message::create($message($key, $body))->refresh());
$tries->run('create(), headers and priority', fn ($key, $body) => Message::create($message($key, $body, [
    'headers' => ['X-Tenant' => '7'], 'priority' => 2,
])));
$tries->run('firstOrCreate()', fn ($key, $body) => Message::firstOrCreate(['idempotency_key' => $key], $message($key, $body)));
$tries->run('firstOrCreate() on outbox_new, key as primary key', fn ($key, $body) => NewKeyedMessage::firstOrCreate(
    ['idempotency_key' => $key], $message($key, $body)
));
$tries->run('createOrFirst()', fn ($key, $body) => Message::createOrFirst(['idempotency_key' => $key], $message($key, $body)));
$tries->run('updateOrCreate()', fn ($key, $body) => Message::updateOrCreate(['idempotency_key' => $key], $message($key, $body)));
$tries->run('upsert()', fn ($key, $body) => Message::upsert([$row($key, $body)], ['idempotency_key'], ['payload']));
$tries->run("DB::table('outbox')->insert(), json_encode", fn ($key, $body) => DB::table('outbox')->insert($row($key, $body)));
$tries->run('insert() of many', fn ($key, $body) => DB::table('outbox')->insert([$row($key, $body), $row("$key-second", $body)]));
$tries->run('insertGetId()', fn ($key, $body) => DB::table('outbox')->insertGetId($row($key, $body)));
$tries->run('insertOrIgnore(), twice', function ($key, $body) use ($row) {
    DB::table('outbox')->insertOrIgnore($row($key, $body));
    DB::table('outbox')->insertOrIgnore($row($key, $body));
});
$tries->run('insertOrIgnore() with a wrong priority', fn ($key, $body) => DB::table('outbox')->insertOrIgnore(
    $row($key, $body, ['priority' => 9])
));
$tries->run('UniqueConstraintViolationException caught', function ($key, $body) use ($message) {
    Message::create($message($key, $body));
    try {
        // A transaction within the transaction is a savepoint.
        DB::connection()->transaction(fn () => Message::create($message($key, $body)));
    } catch (UniqueConstraintViolationException) {
    }
    DB::table('orders')->count();
});
$tries->run("json_encode() beside the cast 'array'", fn ($key, $body) => Message::create(
    $message($key, $body, ['payload' => json_encode($body)])
));
$tries->run('created with status', fn ($key, $body) => Message::create($message($key, $body, ['status' => 'PENDING'])));
$tries->run('available_at => now()->addMinutes(10)', fn ($key, $body) => Message::create(
    $message($key, $body, ['available_at' => Carbon::now()->addMinutes(10)])
), 600);
$tries->run("available_at => now('UTC')->addMinutes(10)", fn ($key, $body) => Message::create(
    $message($key, $body, ['available_at' => Carbon::now('UTC')->addMinutes(10)])
), 600);
$tries->run('DB::select() of outbox_enqueue, 600 seconds', fn ($key, $body) => getenv('GUIDE_SERVER') === 'postgres'
    ? DB::select('SELECT outbox_enqueue(?, ?, ?, ?, p_delay_seconds => 600)', ['hooks', $hook, json_encode($body), $key])
    : DB::statement('CALL outbox_enqueue(?, ?, ?, ?, ?, @id)', ['hooks', $hook, json_encode($body), $key, '{"delay_seconds": 600}']), 600);
