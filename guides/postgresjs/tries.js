import postgres from 'postgres';
import { attemptsWith } from './attempt.js';

const attempt = attemptsWith('postgres.js');
const sql = postgres(process.env.DATABASE_URL, { onnotice: () => {} });
const target = process.env.TARGET;
const row = (key, payload, more = {}) => sql({ channel: 'hooks', target, payload, idempotency_key: key, ...more });
const inTenMinutes = () => new Date(Date.now() + 600_000);

await attempt('sql({…}) with an object', (key, body) => sql`INSERT INTO outbox ${row(key, body)}`);
await attempt('sql({…}) with sql.json', (key, body) => sql`INSERT INTO outbox ${row(key, sql.json(body))}`);
await attempt('VALUES with an object', (key, body) => sql`
  INSERT INTO outbox (channel, target, payload, idempotency_key) VALUES ('hooks', ${target}, ${body}, ${key})`);
await attempt('VALUES with sql.json', (key, body) => sql`
  INSERT INTO outbox (channel, target, payload, idempotency_key) VALUES ('hooks', ${target}, ${sql.json(body)}, ${key})`);
await attempt('JSON.stringify', (key, body) => sql`INSERT INTO outbox ${row(key, JSON.stringify(body))}`);
await attempt('JSON.stringify and ::jsonb', (key, body) => sql`
  INSERT INTO outbox (channel, target, payload, idempotency_key)
  VALUES ('hooks', ${target}, ${JSON.stringify(body)}::jsonb, ${key})`);
await attempt('JSON.stringify and ::text::jsonb', (key, body) => sql`
  INSERT INTO outbox (channel, target, payload, idempotency_key)
  VALUES ('hooks', ${target}, ${JSON.stringify(body)}::text::jsonb, ${key})`);
await attempt('undefined as the payload', (key) => sql`INSERT INTO outbox ${row(key, undefined)}`);
await attempt('two rows by sql([…])', (key, body) => sql`INSERT INTO outbox ${sql([
  { channel: 'hooks', target, payload: body, idempotency_key: key },
  { channel: 'hooks', target, payload: { second: true }, idempotency_key: `${key}-second` },
])}`);
await attempt('unsafe with JSON.stringify', (key, body) => sql.unsafe(
  `INSERT INTO outbox (channel, target, payload, idempotency_key) VALUES ('hooks', $1, $2, $3)`,
  [target, JSON.stringify(body), key]));
await attempt('RETURNING id', (key, body) => sql`INSERT INTO outbox ${row(key, body)} RETURNING id`);
await attempt('RETURNING *', (key, body) => sql`INSERT INTO outbox ${row(key, body)} RETURNING *`);
await attempt('RETURNING * through outbox_new', (key, body) => sql`INSERT INTO outbox_new ${row(key, body)} RETURNING *`);
await attempt('ON CONFLICT (idempotency_key) DO NOTHING, a known key', (key, body) => sql.begin(async (tx) => {
  await tx`INSERT INTO outbox ${row(key, body)}`;
  await tx`INSERT INTO outbox ${row(key, body)} ON CONFLICT (idempotency_key) DO NOTHING`;
}));
await attempt('a known key, caught, and the transaction goes on', (key, body) => sql.begin(async (tx) => {
  await tx`INSERT INTO outbox ${row(key, body)}`;
  await tx`INSERT INTO outbox ${row(key, body)}`.catch(() => {});
  await tx`UPDATE orders SET state = 'paid' WHERE id = 1`;
}));
await attempt('a known key, caught around a savepoint', (key, body) => sql.begin(async (tx) => {
  await tx`INSERT INTO outbox ${row(key, body)}`;
  await tx.savepoint((inner) => inner`INSERT INTO outbox ${row(key, body)}`).catch(() => {});
}));
await attempt('a Date of now', (key, body) => sql`INSERT INTO outbox ${row(key, body, { available_at: new Date() })}`);
await attempt('a Date in 10 minutes', (key, body) => sql`
  INSERT INTO outbox ${row(key, body, { available_at: inTenMinutes() })}`, 600);
await attempt("now() + interval '10 min'", (key, body) => sql`
  INSERT INTO outbox (channel, target, payload, idempotency_key, available_at)
  VALUES ('hooks', ${target}, ${body}, ${key}, now() + interval '10 min')`, 600);
await attempt('outbox_enqueue, an object', (key, body) => sql`SELECT outbox_enqueue('hooks', ${target}, ${body}, ${key})`);
await attempt('outbox_enqueue, sql.json', (key, body) => sql`
  SELECT outbox_enqueue('hooks', ${target}, ${sql.json(body)}, ${key})`);
await attempt('outbox_enqueue, sql.json and ::jsonb', (key, body) => sql`
  SELECT outbox_enqueue('hooks', ${target}, ${sql.json(body)}::jsonb, ${key})`);
await attempt('outbox_enqueue, an object and ::jsonb, a delay', (key, body) => sql`
  SELECT outbox_enqueue('hooks', ${target}, ${body}::jsonb, ${key}, p_delay_seconds => 600)`, 600);
await attempt('outbox_enqueue, JSON.stringify', (key, body) => sql`
  SELECT outbox_enqueue('hooks', ${target}, ${JSON.stringify(body)}, ${key})`);
await attempt('outbox_enqueue, JSON.stringify and ::jsonb', (key, body) => sql`
  SELECT outbox_enqueue('hooks', ${target}, ${JSON.stringify(body)}::jsonb, ${key})`);
await attempt('outbox_enqueue, a known key', (key, body) => sql.begin(async (tx) => {
  const call = () => tx`SELECT outbox_enqueue('hooks', ${target}, ${JSON.stringify(body)}, ${key}) AS id`;
  const ids = [(await call())[0].id, (await call())[0].id];
  if (ids[0] === null || ids[1] !== null) throw new Error(`the ids are ${ids}`);
}));

await sql.end();
