import mariadb from 'mariadb';
import { attemptsWith } from './attempt.js';

const attempt = attemptsWith('MariaDB Connector/Node.js');
const { DB_HOST: host, DB_PORT: port, DB_USER: user, DB_PASSWORD: password, DB_NAME: database } = process.env;
const settings = { host, port: Number(port), user, password, database };
const pool = mariadb.createPool(settings);
const utc = mariadb.createPool({ ...settings, timezone: 'Z' });
const target = process.env.TARGET;
const INSERT = `INSERT INTO outbox (channel, target, payload, idempotency_key) VALUES ('hooks', ?, ?, ?)`;
const INSERT_AT =
  `INSERT INTO outbox (channel, target, payload, idempotency_key, available_at) VALUES ('hooks', ?, ?, ?, ?)`;
const inTenMinutes = () => new Date(Date.now() + 600_000);

await attempt('query, an object', (key, body) => pool.query(INSERT, [target, body, key]));
await attempt('query, JSON.stringify', (key, body) => pool.query(INSERT, [target, JSON.stringify(body), key]));
await attempt('execute, an object', (key, body) => pool.execute(INSERT, [target, body, key]));
await attempt('execute, JSON.stringify', (key, body) => pool.execute(INSERT, [target, JSON.stringify(body), key]));
await attempt('JSON.stringify twice', (key, body) => pool.query(INSERT, [target, JSON.stringify(JSON.stringify(body)), key]));
await attempt('null as the payload', (key) => pool.query(INSERT, [target, null, key]));
await attempt('undefined as the payload', (key) => pool.query(INSERT, [target, undefined, key]));
await attempt('namedPlaceholders', (key, body) => pool.query({
  namedPlaceholders: true,
  sql: `INSERT INTO outbox (channel, target, payload, idempotency_key) VALUES ('hooks', :target, :payload, :key)`,
}, { target, payload: JSON.stringify(body), key }));
await attempt('batch of two', (key, body) => pool.batch(INSERT, [
  [target, JSON.stringify(body), key],
  [target, JSON.stringify({ second: true }), `${key}-second`],
]));
await attempt('insertId', async (key, body) => {
  const { insertId } = await pool.query(INSERT, [target, body, key]);
  if (!insertId) throw new Error('no insertId');
});
await attempt('RETURNING id', (key, body) => pool.query(`${INSERT} RETURNING id`, [target, body, key]));
await attempt('RETURNING id through outbox_new', (key, body) => pool.query(
  `${INSERT.replace('outbox', 'outbox_new')} RETURNING id`, [target, body, key]));
await attempt('a known key, ER_DUP_ENTRY caught', async (key, body) => {
  const connection = await pool.getConnection();
  await connection.beginTransaction();
  await connection.query(INSERT, [target, body, key]);
  await connection.query(INSERT, [target, body, key]).catch((error) => {
    if (error.code !== 'ER_DUP_ENTRY') throw error;
  });
  await connection.commit();
  await connection.release();
});
await attempt('INSERT IGNORE with a wrong priority', (key, body) => pool.query(
  `INSERT IGNORE INTO outbox (channel, target, payload, idempotency_key, priority) VALUES ('hooks', ?, ?, ?, 9)`,
  [target, body, key]));
await attempt('INSERT IGNORE, a known key', async (key, body) => {
  await pool.query(INSERT, [target, body, key]);
  await pool.query(INSERT.replace('INSERT', 'INSERT IGNORE'), [target, body, key]);
});
await attempt('a Date of now', (key, body) => pool.query(INSERT_AT, [target, body, key, new Date()]));
await attempt('a Date in 10 minutes', (key, body) => pool.query(INSERT_AT, [target, body, key, inTenMinutes()]), 600);
await attempt('a Date in 10 minutes by execute', (key, body) => pool.execute(
  INSERT_AT, [target, body, key, inTenMinutes()]), 600);
await attempt("a Date in 10 minutes, with timezone: 'Z'", (key, body) => utc.query(
  INSERT_AT, [target, body, key, inTenMinutes()]), 600);
await attempt("a Date in 10 minutes by execute, with timezone: 'Z'", (key, body) => utc.execute(
  INSERT_AT, [target, body, key, inTenMinutes()]), 600);
await attempt('NOW() + INTERVAL 10 MINUTE', (key, body) => pool.query(
  INSERT_AT.replace(/\?\)$/, 'NOW() + INTERVAL 10 MINUTE)'), [target, body, key]), 600);
await attempt("NOW() + INTERVAL 10 MINUTE, with timezone: 'Z'", (key, body) => utc.query(
  INSERT_AT.replace(/\?\)$/, 'NOW() + INTERVAL 10 MINUTE)'), [target, body, key]), 600);
await attempt('outbox_enqueue, query, objects, a delay', (key, body) => pool.query(
  `CALL outbox_enqueue('hooks', ?, ?, ?, ?, @id)`, [target, body, key, { delay_seconds: 600 }]), 600);
await attempt('outbox_enqueue, execute, JSON.stringify, a delay', (key, body) => pool.execute(
  `CALL outbox_enqueue('hooks', ?, ?, ?, ?, @id)`,
  [target, JSON.stringify(body), key, JSON.stringify({ delay_seconds: 600 })]), 600);
await attempt('outbox_enqueue, ? for the id', (key, body) => pool.execute(
  `CALL outbox_enqueue('hooks', ?, ?, ?, NULL, ?)`, [target, JSON.stringify(body), key, null]));
await attempt('outbox_enqueue, a known key', async (key, body) => {
  const connection = await pool.getConnection();
  const call = async () => {
    await connection.query(`CALL outbox_enqueue('hooks', ?, ?, ?, NULL, @id)`, [target, body, key]);
    const [{ id }] = await connection.query('SELECT @id AS id');
    return id;
  };
  const ids = [await call(), await call()];
  await connection.release();
  if (ids[0] === null || ids[1] !== null) throw new Error(`the ids are ${ids}`);
});

await Promise.all([pool.end(), utc.end()]);
