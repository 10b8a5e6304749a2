import { sql } from 'drizzle-orm';
import { drizzle as withNodePostgres } from 'drizzle-orm/node-postgres';
import {
  bigint, jsonb, type PgDatabase, type PgQueryResultHKT, pgTable, smallint, text, timestamp, varchar,
} from 'drizzle-orm/pg-core';
import { drizzle as withPostgresJs } from 'drizzle-orm/postgres-js';
import { attemptsWith } from './attempt.js';

const url = process.env.DATABASE_URL!;
const target = process.env.TARGET!;

const columns = () => ({
  channel: varchar({ length: 64 }).notNull().default('hooks'),
  target: text().notNull(),
  payload: jsonb().notNull(),
  idempotencyKey: varchar('idempotency_key', { length: 255 }).notNull(),
  priority: smallint(),
  availableAt: timestamp('available_at', { withTimezone: true, precision: 6 }),
});
// Drizzle keeps the names of a table's columns by the table's name, so what one definition adds is named by hand.
const id = () => bigint('id', { mode: 'bigint' }).generatedAlwaysAsIdentity();
const onTable = pgTable('outbox', columns());
const withId = pgTable('outbox', { id: id(), ...columns() });
const onView = pgTable('outbox_new', { id: id(), ...columns() });
const withoutZone = pgTable('outbox_new', { ...columns(), availableAt: timestamp('available_at') });
const row = (key: string, payload: unknown) => ({ channel: 'hooks', target, payload, idempotencyKey: key });
const inTenMinutes = () => new Date(Date.now() + 600_000);

async function tries(stack: string, db: PgDatabase<PgQueryResultHKT>) {
  const attempt = attemptsWith(stack);

  await attempt('insert, an object', (key, body) => db.insert(onTable).values(row(key, body)));
  await attempt('insert, JSON.stringify', (key, body) => db.insert(onTable).values(row(key, JSON.stringify(body))));
  await attempt('insert, an array as the payload', async (key, body) => {
    await db.insert(onTable).values(row(`${key}-array`, [body]));
    await db.insert(onTable).values(row(key, body));
  });
  await attempt('insert of two', (key, body) => db.insert(onTable).values(
    [row(key, body), row(`${key}-second`, { second: true })]));
  await attempt('insert, with the id in the schema', (key, body) => db.insert(withId).values(row(key, body)));
  await attempt('returning()', (key, body) => db.insert(onTable).values(row(key, body)).returning());
  await attempt('returning({ key })', (key, body) => db.insert(onTable).values(row(key, body)).returning(
    { key: onTable.idempotencyKey }));
  await attempt('returning() through outbox_new', (key, body) => db.insert(onView).values(row(key, body)).returning());
  await attempt('onConflictDoNothing, a known key', async (key, body) => {
    await db.insert(onTable).values(row(key, body));
    await db.insert(onTable).values(row(key, body)).onConflictDoNothing({ target: onTable.idempotencyKey });
  });
  await attempt('onConflictDoUpdate', (key, body) => db.insert(onTable).values(row(key, body)).onConflictDoUpdate(
    { target: onTable.idempotencyKey, set: { payload: body } }));
  await attempt('a known key, caught, and the transaction goes on', (key, body) => db.transaction(async (tx) => {
    await tx.insert(onTable).values(row(key, body));
    await tx.insert(onTable).values(row(key, body)).catch(() => {});
    await tx.execute(sql`UPDATE orders SET state = 'paid' WHERE id = 1`);
  }));
  await attempt('a known key, caught around a nested transaction', (key, body) => db.transaction(async (tx) => {
    await tx.insert(onTable).values(row(key, body));
    await tx.transaction((inner) => inner.insert(onTable).values(row(key, body))).catch(() => {});
  }));
  await attempt('timestamp with time zone: new Date()', (key, body) => db.insert(onTable).values(
    { ...row(key, body), availableAt: new Date() }));
  await attempt('timestamp with time zone: a Date in 10 minutes', (key, body) => db.insert(onTable).values(
    { ...row(key, body), availableAt: inTenMinutes() }), 600);
  await attempt('timestamp without withTimezone: a Date in 10 minutes', (key, body) => db.insert(withoutZone).values(
    { ...row(key, body), availableAt: inTenMinutes() }), 600);
  await attempt('sql`now()`', (key, body) => db.insert(onTable).values({ ...row(key, body), availableAt: sql`now()` }));
  await attempt('sql, an object', (key, body) => db.execute(sql`
    INSERT INTO outbox (channel, target, payload, idempotency_key) VALUES ('hooks', ${target}, ${body}, ${key})`));
  await attempt('sql, JSON.stringify', (key, body) => db.execute(sql`
    INSERT INTO outbox (channel, target, payload, idempotency_key)
    VALUES ('hooks', ${target}, ${JSON.stringify(body)}, ${key})`));
  await attempt('sql, JSON.stringify and ::jsonb', (key, body) => db.execute(sql`
    INSERT INTO outbox (channel, target, payload, idempotency_key)
    VALUES ('hooks', ${target}, ${JSON.stringify(body)}::jsonb, ${key})`));
  await attempt('outbox_enqueue, an object', (key, body) => db.execute(sql`
    SELECT outbox_enqueue('hooks', ${target}, ${body}, ${key})`));
  await attempt('outbox_enqueue, JSON.stringify, a delay', (key, body) => db.execute(sql`
    SELECT outbox_enqueue('hooks', ${target}, ${JSON.stringify(body)}, ${key}, p_delay_seconds => 600)`), 600);
  await attempt('outbox_enqueue, JSON.stringify and ::jsonb', (key, body) => db.execute(sql`
    SELECT outbox_enqueue('hooks', ${target}, ${JSON.stringify(body)}::jsonb, ${key})`));
}

const nodePostgres = withNodePostgres(url);
await tries('Drizzle, node-postgres', nodePostgres);
await nodePostgres.$client.end();

const postgresJs = withPostgresJs(url);
await tries('Drizzle, postgres.js', postgresJs);
const attempt = attemptsWith('Drizzle, postgres.js');
await attempt('an object by the client itself, which Drizzle has changed', (key, body) => postgresJs.$client`
  INSERT INTO outbox (channel, target, payload, idempotency_key) VALUES ('hooks', ${target}, ${body as never}, ${key})`);
await attempt('JSON.stringify by the client itself, which Drizzle has changed', (key, body) => postgresJs.$client`
  INSERT INTO outbox (channel, target, payload, idempotency_key)
  VALUES ('hooks', ${target}, ${JSON.stringify(body)}, ${key})`);
await postgresJs.$client.end();
