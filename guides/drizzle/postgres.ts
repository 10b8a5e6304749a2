import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { bigint, jsonb, pgTable, text, varchar } from 'drizzle-orm/pg-core';

const db = drizzle(process.env.DATABASE_URL!);
const target = process.env.TARGET!;
type Transaction = Parameters<Parameters<typeof db.transaction>[0]>[0];

const orders = pgTable('orders', {
  id: bigint({ mode: 'number' }).primaryKey(),
  customer: varchar({ length: 100 }).notNull(),
});

// docs: begin drizzle-postgres-schema
/** The view: with it, `returning()` may read back all columns. */
const outbox = pgTable('outbox_new', {
  channel: varchar({ length: 64 }).notNull(),
  target: text().notNull(),
  payload: jsonb().notNull(),
  idempotencyKey: varchar('idempotency_key', { length: 255 }),
  orderingKey: varchar('ordering_key', { length: 255 }),
  headers: jsonb(),
});
// docs: end drizzle-postgres-schema

type Message = { payload: unknown; idempotencyKey?: string; orderingKey?: string; headers?: Record<string, string> };

// docs: begin drizzle-postgres
/** Says whether the message is new. A known key is no error, so the transaction goes on. */
async function enqueue(tx: Transaction, message: Message) {
  const written = await tx.insert(outbox).values({ channel: 'hooks', target, ...message })
    .onConflictDoNothing().returning({ key: outbox.idempotencyKey });
  return written.length === 1;
}

async function placeOrder(id: number, customer: string, payload: unknown) {
  await db.transaction(async (tx) => {
    await tx.insert(orders).values({ id, customer });
    await enqueue(tx, { payload, idempotencyKey: `order-${id}-placed` });
  });
}
// docs: end drizzle-postgres

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
  await tx.execute(sql`
    SELECT outbox_enqueue('hooks', ${target}, ${payload}, 'order-4-reminder', p_delay_seconds => 5)`);
});

await db.transaction(async (tx) => {
  await tx.insert(orders).values({ id: 5, customer: 'Ann' });
  await enqueue(tx, { payload: { order: 5 }, orderingKey: 'customer-7', headers: { 'X-Tenant': '7' } });
});

await placeOrder(6, 'Ann', { order: 6 });

await db.$client.end();
