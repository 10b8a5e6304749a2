import pg from 'pg';
import { attemptsWith } from './attempt.js';

const attempt = attemptsWith('node-postgres');
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
const target = process.env.TARGET;
const insert = (key, payload, more = '', table = 'outbox') => pool.query(
  `INSERT INTO ${table} (channel, target, payload, idempotency_key) VALUES ('hooks', $1, $2, $3) ${more}`,
  [target, payload, key]);
const insertAt = (key, payload, at) => pool.query(
  `INSERT INTO outbox (channel, target, payload, idempotency_key, available_at) VALUES ('hooks', $1, $2, $3, $4)`,
  [target, payload, key, at]);
const inTenMinutes = () => new Date(Date.now() + 600_000);

await attempt('an object', (key, body) => insert(key, body));
await attempt('JSON.stringify', (key, body) => insert(key, JSON.stringify(body)));
await attempt('JSON.stringify and ::jsonb', (key, body) => pool.query(
  `INSERT INTO outbox (channel, target, payload, idempotency_key) VALUES ('hooks', $1, $2::jsonb, $3)`,
  [target, JSON.stringify(body), key]));
await attempt('an array, which becomes an array of PostgreSQL', (key, body) => insert(key, [body]));
await attempt('a bare string', (key) => insert(key, 'hello'));
await attempt('JSON.stringify twice', (key, body) => insert(key, JSON.stringify(JSON.stringify(body))));
await attempt('undefined as the payload', (key) => insert(key, undefined));
await attempt('a BigInt in JSON.stringify', async (key, body) => insert(key, JSON.stringify({ ...body, big: 2n ** 64n })));
await attempt('two rows in one insert', async (key, body) => pool.query(
  `INSERT INTO outbox (channel, target, payload, idempotency_key)
   SELECT 'hooks', $1, * FROM unnest($2::jsonb[], $3::text[])`,
  [target, [JSON.stringify(body), JSON.stringify({ second: true })], [key, `${key}-second`]]));
await attempt('RETURNING id', (key, body) => insert(key, body, 'RETURNING id'));
await attempt('RETURNING *', (key, body) => insert(key, body, 'RETURNING *'));
await attempt('RETURNING * through outbox_new', (key, body) => insert(key, body, 'RETURNING *', 'outbox_new'));
await attempt('ON CONFLICT (idempotency_key) DO NOTHING, a known key', async (key, body) => {
  await insert(key, body);
  await insert(key, { n: 'again' }, 'ON CONFLICT (idempotency_key) DO NOTHING');
});
await attempt('ON CONFLICT (idempotency_key) DO NOTHING through outbox_new, a known key', async (key, body) => {
  await insert(key, body, '', 'outbox_new');
  await insert(key, { n: 'again' }, 'ON CONFLICT (idempotency_key) DO NOTHING', 'outbox_new');
});
await attempt('a known key, caught, and the transaction goes on', async (key, body) => {
  const client = await pool.connect();
  const again = () => client.query(
    `INSERT INTO outbox (channel, target, payload, idempotency_key) VALUES ('hooks', $1, $2, $3)`, [target, body, key]);
  try {
    await client.query('BEGIN');
    await again();
    await again().catch(() => {});
    await client.query(`UPDATE orders SET state = 'paid' WHERE id = 1`);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    client.release();
  }
});
await attempt('ON CONFLICT DO UPDATE', (key, body) => insert(
  key, body, 'ON CONFLICT (idempotency_key) DO UPDATE SET payload = excluded.payload'));
await attempt('a Date of now', (key, body) => insertAt(key, body, new Date()));
await attempt('a Date in 10 minutes', (key, body) => insertAt(key, body, inTenMinutes()), 600);
await attempt('toISOString() in 10 minutes', (key, body) => insertAt(key, body, inTenMinutes().toISOString()), 600);
await attempt('UTC in 10 minutes, written without a zone', (key, body) => insertAt(
  key, body, inTenMinutes().toISOString().slice(0, 19)), 600);
await attempt("now() + interval '10 min'", (key, body) => pool.query(
  `INSERT INTO outbox (channel, target, payload, idempotency_key, available_at)
   VALUES ('hooks', $1, $2, $3, now() + interval '10 min')`, [target, body, key]), 600);
await attempt('outbox_enqueue, an object', (key, body) => pool.query(
  `SELECT outbox_enqueue('hooks', $1, $2, $3)`, [target, body, key]));
await attempt('outbox_enqueue, an object and ::jsonb', (key, body) => pool.query(
  `SELECT outbox_enqueue('hooks', $1, $2::jsonb, $3)`, [target, body, key]));
await attempt('outbox_enqueue, JSON.stringify, a delay', (key, body) => pool.query(
  `SELECT outbox_enqueue('hooks', $1, $2, $3, p_delay_seconds => 600)`, [target, JSON.stringify(body), key]), 600);
await attempt('outbox_enqueue, a known key', async (key, body) => {
  const call = () => pool.query(`SELECT outbox_enqueue('hooks', $1, $2, $3) AS id`, [target, JSON.stringify(body), key]);
  const ids = [(await call()).rows[0].id, (await call()).rows[0].id];
  if (ids[0] === null || ids[1] !== null) throw new Error(`the ids are ${ids}`);
});
await attempt('max_attempts = 0', (key, body) => pool.query(
  `INSERT INTO outbox (channel, target, payload, idempotency_key, max_attempts) VALUES ('hooks', $1, $2, $3, 0)`,
  [target, body, key]));
await attempt('expires_at = new Date(0)', (key, body) => pool.query(
  `INSERT INTO outbox (channel, target, payload, idempotency_key, expires_at) VALUES ('hooks', $1, $2, $3, $4)`,
  [target, body, key, new Date(0)]));

await pool.end();
