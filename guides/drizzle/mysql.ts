import { DrizzleQueryError, sql } from 'drizzle-orm';
import { bigint, json, mysqlTable, text, varchar } from 'drizzle-orm/mysql-core';
import { drizzle } from 'drizzle-orm/mysql2';

const db = drizzle(process.env.DATABASE_URL!);
const target = process.env.TARGET!;
type Transaction = Parameters<Parameters<typeof db.transaction>[0]>[0];

const orders = mysqlTable('orders', {
  id: bigint({ mode: 'number' }).primaryKey(),
  customer: varchar({ length: 100 }).notNull(),
});

/** Without the id: Drizzle names all columns in an INSERT, and the id is not the application's to write. */
const outbox = mysqlTable('outbox', {
  channel: varchar({ length: 64 }).notNull(),
  target: text().notNull(),
  payload: json().notNull(),
  idempotencyKey: varchar('idempotency_key', { length: 255 }),
  orderingKey: varchar('ordering_key', { length: 255 }),
  headers: json(),
});

/** Tries a transaction again that the server rolled back, as MySQL and MariaDB do to end a deadlock over a key. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 3; ; tries -= 1) {
    try {
      return await work();
    } catch (error: any) {
      if (tries === 1 || error.cause?.code !== 'ER_LOCK_DEADLOCK') throw error;
    }
  }
}

type Message = { payload: unknown; idempotencyKey?: string; orderingKey?: string; headers?: Record<string, string> };

// docs: begin drizzle-mysql
/** Says whether the message is new. A known key undoes the insert alone, so the transaction goes on. */
async function enqueue(tx: Transaction, message: Message) {
  try {
    await tx.insert(outbox).values({ channel: 'hooks', target, ...message });
    return true;
  } catch (error) {
    const isKnown = error instanceof DrizzleQueryError && (error.cause as { code?: string }).code === 'ER_DUP_ENTRY';
    if (isKnown) return false;
    throw error;
  }
}

async function placeOrder(id: number, customer: string, payload: unknown) {
  await again(() => db.transaction(async (tx) => {
    await tx.insert(orders).values({ id, customer });
    await enqueue(tx, { payload, idempotencyKey: `order-${id}-placed` });
  }));
}
// docs: end drizzle-mysql

await placeOrder(1, 'Jürgen 李 🎉', {
  order: 1, customer: 'Jürgen 李 🎉', units: Number.MAX_SAFE_INTEGER, total: '12345678901234567890.12',
});

class PaymentRefused extends Error {}
try {
  await db.transaction(async (tx) => {
    await tx.insert(orders).values({ id: 2, customer: 'Ann' });
    await enqueue(tx, { payload: { order: 2 }, idempotencyKey: 'order-2-placed' });
    throw new PaymentRefused();
  });
} catch (error) {
  if (!(error instanceof PaymentRefused)) throw error;
}

await db.transaction(async (tx) => {
  await tx.insert(orders).values({ id: 3, customer: 'Ann' });
  const isNew = await enqueue(tx, { payload: { order: 3 }, idempotencyKey: 'order-1-placed' });
  if (isNew) throw new Error('the key should be known');
});

await db.transaction(async (tx) => {
  await tx.insert(orders).values({ id: 4, customer: 'Ann' });
  const payload = JSON.stringify({ order: 4 });
  const options = JSON.stringify({ delay_seconds: 5 });
  await tx.execute(sql`CALL outbox_enqueue('hooks', ${target}, ${payload}, 'order-4-reminder', ${options}, @id)`);
});

await db.transaction(async (tx) => {
  await tx.insert(orders).values({ id: 5, customer: 'Ann' });
  await enqueue(tx, { payload: { order: 5 }, orderingKey: 'customer-7', headers: { 'X-Tenant': '7' } });
});

await placeOrder(6, 'Ann', { order: 6 });

db.$client.end();
