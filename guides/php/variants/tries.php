<?php

declare(strict_types=1);

require __DIR__ . '/../database.php';

/** Runs variants of natural code, and tells of each whether it was accepted. */
final class Tries
{
    private int $count = 0;

    /** @param Closure(Closure): void $transaction runs its argument in a transaction, beside an order */
    public function __construct(private string $stack, private string $prefix, private Closure $transaction)
    {
    }

    /** @param Closure(string, array): mixed $work writes a message with this key and this body */
    public function run(string $name, Closure $work, int $delay = 0): void
    {
        $this->count++;
        $key = "try-{$this->prefix}-{$this->count}";
        $body = ['n' => $this->count, 'customer' => 'Jürgen 李 🎉'];
        try {
            ($this->transaction)(fn () => $work($key, $body));
            $outcome = $delay ? ['body' => $body, 'delay' => $delay] : ['body' => $body];
        } catch (Throwable $refusal) {
            $outcome = ['refused' => mb_substr(self::words($refusal), 0, 200)];
        }
        echo json_encode(
            ['stack' => $this->stack, 'try' => $name, 'key' => $key] + $outcome,
            JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES
        ), "\n";
    }

    /** The database's own, where it has refused. */
    private static function words(Throwable $refusal): string
    {
        for ($cause = $refusal; $cause; $cause = $cause->getPrevious()) {
            if ($cause instanceof PDOException && isset($cause->errorInfo[2])) {
                return $cause->errorInfo[2];
            }
        }
        return $refusal->getMessage();
    }
}

/** An id of its own for each order. */
function nextOrder(): int
{
    static $last = null;
    return $last = ($last ?? 1000 * getmypid()) + 1;
}
