import { sql } from 'drizzle-orm';
import { bigint, datetime, json, mysqlTable, smallint, text, varchar } from 'drizzle-orm/mysql-core';
import { drizzle } from 'drizzle-orm/mysql2';
import { attemptsWith } from './attempt.js';

const attempt = attemptsWith('Drizzle, mysql2');
const db = drizzle(process.env.DATABASE_URL!);
const target = process.env.TARGET!;

const columns = () => ({
  channel: varchar({ length: 64 }).notNull(),
  target: text().notNull(),
  payload: json().notNull(),
  idempotencyKey: varchar('idempotency_key', { length: 255 }).notNull(),
  priority: smallint(),
});
// Drizzle keeps the names of a table's columns by the table's name, so what one definition adds is named by hand.
const onTable = mysqlTable('outbox', columns());
const onView = mysqlTable('outbox_new', columns());
const withId = mysqlTable('outbox', { id: bigint('id', { mode: 'number' }).autoincrement().primaryKey(), ...columns() });
const viewWithId = mysqlTable('outbox_new', { id: bigint('id', { mode: 'number' }).autoincrement().primaryKey(), ...columns() });
const withKey = mysqlTable('outbox', {
  ...columns(), idempotencyKey: varchar('idempotency_key', { length: 255 }).primaryKey().$defaultFn(() => 'try-made-here'),
});
const withTime = mysqlTable('outbox', { ...columns(), availableAt: datetime('available_at', { fsp: 6 }) });
const withText = mysqlTable('outbox', { ...columns(), availableAt: datetime('available_at', { mode: 'string', fsp: 6 }) });
const row = (key: string, payload: unknown) => ({ channel: 'hooks', target, payload, idempotencyKey: key });
const inTenMinutes = () => new Date(Date.now() + 600_000);

await attempt('insert, an object', (key, body) => db.insert(onTable).values(row(key, body)));
await attempt('insert, JSON.stringify', (key, body) => db.insert(onTable).values(row(key, JSON.stringify(body))));
await attempt('insert, an array as the payload', async (key, body) => {
  await db.insert(onTable).values(row(`${key}-array`, [body]));
  await db.insert(onTable).values(row(key, body));
});
await attempt('insert of two', (key, body) => db.insert(onTable).values([row(key, body), row(`${key}-second`, { second: true })]));
await attempt('insert into outbox_new', (key, body) => db.insert(onView).values(row(key, body)));
await attempt('insert, with the id in the schema', (key, body) => db.insert(withId).values(row(key, body)));
await attempt('insert into outbox_new, with the id in the schema', (key, body) => db.insert(viewWithId).values(row(key, body)));
await attempt('$returningId of the key', (key, body) => db.insert(withKey).values(row(key, body)).$returningId());
await attempt('insertId', async (key, body) => {
  const [{ insertId }] = await db.insert(onTable).values(row(key, body));
  if (!insertId) throw new Error('no insertId');
});
await attempt('ignore(), a known key', async (key, body) => {
  await db.insert(onTable).values(row(key, body));
  await db.insert(onTable).ignore().values(row(key, body));
});
await attempt('ignore() with a wrong priority', (key, body) => db.insert(onTable).ignore().values({ ...row(key, body), priority: 9 }));
await attempt('onDuplicateKeyUpdate', (key, body) => db.insert(onTable).values(row(key, body)).onDuplicateKeyUpdate(
  { set: { payload: body } }));
await attempt('a known key, caught, and the transaction goes on', (key, body) => db.transaction(async (tx) => {
  await tx.insert(onTable).values(row(key, body));
  await tx.insert(onTable).values(row(key, body)).catch(() => {});
  await tx.execute(sql`UPDATE orders SET state = 'paid' WHERE id = 1`);
}));
await attempt('datetime: new Date()', (key, body) => db.insert(withTime).values({ ...row(key, body), availableAt: new Date() }));
await attempt('datetime: a Date in 10 minutes', (key, body) => db.insert(withTime).values(
  { ...row(key, body), availableAt: inTenMinutes() }), 600);
await attempt('datetime as a string: UTC in 10 minutes', (key, body) => db.insert(withText).values(
  { ...row(key, body), availableAt: inTenMinutes().toISOString().slice(0, 23).replace('T', ' ') }), 600);
await attempt('datetime as a string: local time in 10 minutes', (key, body) => db.insert(withText).values(
  { ...row(key, body), availableAt: inTenMinutes().toLocaleString('sv') }), 600);
await attempt('datetime: sql`now()`', (key, body) => db.insert(withTime).values({ ...row(key, body), availableAt: sql`now()` }));
await attempt('sql, an object', (key, body) => db.execute(sql`
  INSERT INTO outbox (channel, target, payload, idempotency_key) VALUES ('hooks', ${target}, ${body}, ${key})`));
await attempt('sql, JSON.stringify', (key, body) => db.execute(sql`
  INSERT INTO outbox (channel, target, payload, idempotency_key)
  VALUES ('hooks', ${target}, ${JSON.stringify(body)}, ${key})`));
await attempt('sql, a Date in 10 minutes', (key, body) => db.execute(sql`
  INSERT INTO outbox (channel, target, payload, idempotency_key, available_at)
  VALUES ('hooks', ${target}, ${JSON.stringify(body)}, ${key}, ${inTenMinutes()})`), 600);
await attempt('outbox_enqueue, JSON.stringify, a delay', (key, body) => db.execute(sql`
  CALL outbox_enqueue('hooks', ${target}, ${JSON.stringify(body)}, ${key}, ${JSON.stringify({ delay_seconds: 600 })}, @id)`), 600);

await db.$client.end();
