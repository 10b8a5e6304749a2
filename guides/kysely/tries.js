import { Kysely, MysqlDialect, PostgresDialect, sql } from 'kysely';
import mysql from 'mysql2';
import pg from 'pg';
import { attemptsWith } from './attempt.js';

const attempt = attemptsWith('Kysely');
const onPostgres = process.env.GUIDE_SERVER === 'postgres';
const url = process.env.DATABASE_URL;
const db = new Kysely({
  dialect: onPostgres
    ? new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) })
    : new MysqlDialect({ pool: mysql.createPool(url) }),
});
const target = process.env.TARGET;
const row = (key, payload, more = {}) => ({ channel: 'hooks', target, payload, idempotency_key: key, ...more });
const insert = (key, payload, more, on = db) => on.insertInto('outbox').values(row(key, payload, more));
const inTenMinutes = () => new Date(Date.now() + 600_000);

await attempt('values, an object', (key, body) => insert(key, body).execute());
await attempt('values, JSON.stringify', (key, body) => insert(key, JSON.stringify(body)).execute());
await attempt('values, JSON.stringify twice', (key, body) => insert(key, JSON.stringify(JSON.stringify(body))).execute());
await attempt('values, an array as the payload', (key, body) => insert(key, [body]).execute());
await attempt('values of two, one with a priority', (key, body) => db.insertInto('outbox').values([
  row(key, JSON.stringify(body)), row(`${key}-second`, '{"second": true}', { priority: 1 }),
]).execute());
await attempt("returning('id')", (key, body) => insert(key, JSON.stringify(body)).returning('id').execute());
await attempt('returningAll()', (key, body) => insert(key, JSON.stringify(body)).returningAll().execute());
await attempt('returningAll() through outbox_new', (key, body) => db.insertInto('outbox_new')
  .values(row(key, JSON.stringify(body))).returningAll().execute());
await attempt('insertId', async (key, body) => {
  const { insertId } = await insert(key, JSON.stringify(body)).executeTakeFirstOrThrow();
  if (!onPostgres && !insertId) throw new Error('no insertId');
});
await attempt('a known key, caught, and the transaction goes on', (key, body) => db.transaction().execute(async (trx) => {
  await insert(key, JSON.stringify(body), {}, trx).execute();
  await insert(key, JSON.stringify(body), {}, trx).execute().catch(() => {});
  await trx.updateTable('orders').set({ state: 'paid' }).where('id', '=', 1).execute();
}));
await attempt('available_at: new Date()', (key, body) => insert(
  key, JSON.stringify(body), { available_at: new Date() }).execute());
await attempt('available_at: a Date in 10 minutes', (key, body) => insert(
  key, JSON.stringify(body), { available_at: inTenMinutes() }).execute(), 600);
await attempt('available_at: sql`now()`', (key, body) => insert(
  key, JSON.stringify(body), { available_at: sql`now()` }).execute());
if (onPostgres) {
  await attempt('onConflict doNothing, a known key', async (key, body) => {
    await insert(key, JSON.stringify(body)).execute();
    await insert(key, JSON.stringify(body)).onConflict((conflict) => conflict.doNothing()).execute();
  });
  await attempt('onConflict doUpdateSet', (key, body) => insert(key, JSON.stringify(body)).onConflict((conflict) => conflict
    .column('idempotency_key').doUpdateSet({ target })).execute());
  await attempt('outbox_enqueue, an object, a delay', (key, body) => sql`
    SELECT outbox_enqueue('hooks', ${target}, ${body}, ${key}, p_delay_seconds => 600)`.execute(db), 600);
  await attempt('outbox_enqueue, JSON.stringify', (key, body) => sql`
    SELECT outbox_enqueue('hooks', ${target}, ${JSON.stringify(body)}, ${key})`.execute(db));
} else {
  await attempt('ignore(), a known key', async (key, body) => {
    await insert(key, JSON.stringify(body)).execute();
    await insert(key, JSON.stringify(body)).ignore().execute();
  });
  await attempt('ignore() with a wrong priority', (key, body) => insert(
    key, JSON.stringify(body), { priority: 9 }).ignore().execute());
  await attempt('onDuplicateKeyUpdate', (key, body) => insert(key, JSON.stringify(body))
    .onDuplicateKeyUpdate({ target }).execute());
  const utc = new Kysely({ dialect: new MysqlDialect({ pool: mysql.createPool({ uri: url, timezone: 'Z' }) }) });
  await attempt("available_at: a Date in 10 minutes, with timezone: 'Z'", (key, body) => insert(
    key, JSON.stringify(body), { available_at: inTenMinutes() }, utc).execute(), 600);
  await utc.destroy();
  await attempt('outbox_enqueue, an object, a delay', (key, body) => sql`
    CALL outbox_enqueue('hooks', ${target}, ${body}, ${key}, ${{ delay_seconds: 600 }}, @id)`.execute(db), 600);
  await attempt('outbox_enqueue, JSON.stringify', (key, body) => sql`
    CALL outbox_enqueue('hooks', ${target}, ${JSON.stringify(body)}, ${key}, NULL, @id)`.execute(db));
}

await db.destroy();
