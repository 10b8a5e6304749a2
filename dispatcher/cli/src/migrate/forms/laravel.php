<?php

// The outbox, from schema version {{from}} to {{to}}, for Laravel: database/migrations/{{laravel_time}}_outbox_{{to}}.php

use Illuminate\Database\Migrations\Migration;
use Illuminate\Support\Facades\DB;

// There is no way back: the outbox may hold messages that have not been sent.
return new class extends Migration
{
    public function up(): void
    {
        foreach (self::STATEMENTS as $statement) {
            DB::connection($this->getConnection())->unprepared($statement);
        }
    }

    private const STATEMENTS = [
{{statements}}
    ];
};
