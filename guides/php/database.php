<?php

declare(strict_types=1);

function connect(): PDO
{
    $driver = getenv('GUIDE_SERVER') === 'postgres' ? 'pgsql' : 'mysql';
    $dsn = sprintf('%s:host=%s;port=%s;dbname=%s', $driver, getenv('DB_HOST'), getenv('DB_PORT'), getenv('DB_NAME'));
    return new PDO($dsn, getenv('DB_USER'), getenv('DB_PASSWORD'));
}
