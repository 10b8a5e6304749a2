<?php

declare(strict_types=1);

require getenv('TOOL_TARGET') . '/libraries/usr/share/php/Illuminate/Database/autoload.php';

use Illuminate\Database\Capsule\Manager;
use Illuminate\Support\Facades\Facade;

$manager = new Manager();
$manager->addConnection([
    'driver' => getenv('DB_SERVER') === 'postgres' ? 'pgsql' : 'mysql',
    'host' => getenv('DB_HOST'), 'port' => getenv('DB_PORT'), 'database' => getenv('DB_NAME'), 'username' => getenv('DB_USER'),
    'password' => '', 'charset' => getenv('DB_SERVER') === 'postgres' ? 'utf8' : 'utf8mb4',
]);
// What an application has by itself: facades that find the database.
$container = $manager->getContainer();
$container->instance('db', $manager->getDatabaseManager());
Facade::setFacadeApplication($container);

foreach (glob(getenv('MIGRATIONS') . '/*.php') as $file) {
    (require $file)->up();
}
