import Knex from 'knex';
import { attemptsWith } from './attempt.js';

const attempt = attemptsWith('Knex');
const onPostgres = process.env.GUIDE_SERVER === 'postgres';
const client = onPostgres ? 'pg' : 'mysql2';
// Knex warns on standard output, which is for the tries.
const log = { warn: (words) => console.error(words) };
const knex = Knex({ client, connection: process.env.DATABASE_URL, log });
const target = process.env.TARGET;
const row = (key, payload, more = {}) => ({ channel: 'hooks', target, payload, idempotency_key: key, ...more });
const inTenMinutes = () => new Date(Date.now() + 600_000);

await attempt('insert, an object', (key, body) => knex('outbox').insert(row(key, body)));
await attempt('insert, JSON.stringify', (key, body) => knex('outbox').insert(row(key, JSON.stringify(body))));
await attempt('insert, JSON.stringify twice', (key, body) => knex('outbox').insert(
  row(key, JSON.stringify(JSON.stringify(body)))));
await attempt('insert, an array as the payload', (key, body) => knex('outbox').insert(row(key, [body])));
await attempt('insert, undefined as the payload', (key) => knex('outbox').insert(row(key, undefined)));
await attempt('insert of two, one with a priority', (key, body) => knex('outbox').insert([
  row(key, JSON.stringify(body)), row(`${key}-second`, '{"second": true}', { priority: 1 }),
]));
await attempt('batchInsert', (key, body) => knex.batchInsert('outbox', [
  row(key, JSON.stringify(body)), row(`${key}-second`, '{"second": true}'),
]));
await attempt("insert, returning('id')", (key, body) => knex('outbox').insert(row(key, body), ['id']));
await attempt("insert, returning('*')", (key, body) => knex('outbox').insert(row(key, body)).returning('*'));
await attempt("insert into outbox_new, returning('*')", (key, body) => knex('outbox_new').insert(row(key, body)).returning('*'));
await attempt('onConflict().ignore(), a known key', async (key, body) => {
  await knex('outbox').insert(row(key, body));
  await knex('outbox').insert(row(key, body)).onConflict('idempotency_key').ignore();
});
await attempt('onConflict().ignore() with a wrong priority', (key, body) => knex('outbox')
  .insert(row(key, body, { priority: 9 })).onConflict('idempotency_key').ignore());
await attempt('onConflict().merge()', (key, body) => knex('outbox')
  .insert(row(key, body)).onConflict('idempotency_key').merge());
await attempt('a known key, caught, and the transaction goes on', (key, body) => knex.transaction(async (trx) => {
  await trx('outbox').insert(row(key, body));
  await trx('outbox').insert(row(key, body)).catch(() => {});
  await trx('orders').where({ id: 1 }).update({ state: 'paid' });
}));
await attempt('a known key, caught around a nested transaction', (key, body) => knex.transaction(async (trx) => {
  await trx('outbox').insert(row(key, body));
  await trx.transaction((inner) => inner('outbox').insert(row(key, body))).catch(() => {});
}));
await attempt('upsert', (key, body) => knex('outbox').upsert(row(key, body)));
await attempt('available_at: new Date()', (key, body) => knex('outbox').insert(row(key, body, { available_at: new Date() })));
await attempt('available_at: knex.fn.now()', (key, body) => knex('outbox').insert(
  row(key, body, { available_at: knex.fn.now() })));
await attempt('available_at: a Date in 10 minutes', (key, body) => knex('outbox').insert(
  row(key, body, { available_at: inTenMinutes() })), 600);
if (onPostgres) {
  await attempt('outbox_enqueue, an object, a delay', (key, body) => knex.raw(
    `SELECT outbox_enqueue('hooks', ?, ?, ?, p_delay_seconds => ?)`, [target, body, key, 600]), 600);
  await attempt('outbox_enqueue, JSON.stringify', (key, body) => knex.raw(
    `SELECT outbox_enqueue('hooks', ?, ?, ?)`, [target, JSON.stringify(body), key]));
} else {
  const utc = Knex({ client, connection: { uri: process.env.DATABASE_URL, timezone: 'Z' }, log });
  await attempt("available_at: a Date in 10 minutes, with timezone: 'Z'", (key, body) => utc('outbox').insert(
    row(key, body, { available_at: inTenMinutes() })), 600);
  await utc.destroy();
  await attempt('outbox_enqueue, an object, a delay', (key, body) => knex.raw(
    `CALL outbox_enqueue('hooks', ?, ?, ?, ?, @id)`, [target, body, key, { delay_seconds: 600 }]), 600);
  await attempt('outbox_enqueue, JSON.stringify', (key, body) => knex.raw(
    `CALL outbox_enqueue('hooks', ?, ?, ?, NULL, @id)`, [target, JSON.stringify(body), key]));
}

await knex.destroy();
