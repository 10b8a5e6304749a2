import mysql from 'mysql2/promise';
import { attemptsWith } from './attempt.js';

const attempt = attemptsWith('mysql2');
const pool = mysql.createPool(process.env.DATABASE_URL);
const utc = mysql.createPool({ uri: process.env.DATABASE_URL, timezone: 'Z' });
const target = process.env.TARGET;
const INSERT = `INSERT INTO outbox (channel, target, payload, idempotency_key) VALUES ('hooks', ?, ?, ?)`;
const INSERT_AT =
  `INSERT INTO outbox (channel, target, payload, idempotency_key, available_at) VALUES ('hooks', ?, ?, ?, ?)`;
const inTenMinutes = () => new Date(Date.now() + 600_000);

await attempt('execute, an object', (key, body) => pool.execute(INSERT, [target, body, key]));
await attempt('execute, JSON.stringify', (key, body) => pool.execute(INSERT, [target, JSON.stringify(body), key]));
await attempt('query, an object, which becomes a list of assignments', (key, body) => pool.query(INSERT, [target, body, key]));
await attempt('query, JSON.stringify', (key, body) => pool.query(INSERT, [target, JSON.stringify(body), key]));
await attempt('execute, JSON.stringify of a bare string', async (key, body) => {
  await pool.execute(INSERT, [target, JSON.stringify('hello'), `${key}-string`]);
  await pool.execute(INSERT, [target, body, key]);
});
await attempt('JSON.stringify twice', (key, body) => pool.execute(INSERT, [target, JSON.stringify(JSON.stringify(body)), key]));
await attempt('null as the payload', (key) => pool.execute(INSERT, [target, null, key]));
await attempt('SET ?', (key, body) => pool.query('INSERT INTO outbox SET ?', {
  channel: 'hooks', target, payload: JSON.stringify(body), idempotency_key: key,
}));
await attempt('two rows by VALUES ?', (key, body) => pool.query(
  'INSERT INTO outbox (channel, target, payload, idempotency_key) VALUES ?', [[
    ['hooks', target, JSON.stringify(body), key],
    ['hooks', target, JSON.stringify({ second: true }), `${key}-second`],
  ]]));
await attempt('insertId', async (key, body) => {
  const [{ insertId }] = await pool.execute(INSERT, [target, JSON.stringify(body), key]);
  if (!insertId) throw new Error('no insertId');
});
await attempt('RETURNING id', (key, body) => pool.execute(`${INSERT} RETURNING id`, [target, body, key]));
await attempt('RETURNING id through outbox_new', (key, body) => pool.execute(
  `${INSERT.replace('outbox', 'outbox_new')} RETURNING id`, [target, body, key]));
await attempt('a known key, ER_DUP_ENTRY caught', async (key, body) => {
  const connection = await pool.getConnection();
  await connection.beginTransaction();
  await connection.execute(INSERT, [target, body, key]);
  await connection.execute(INSERT, [target, body, key]).catch((error) => {
    if (error.code !== 'ER_DUP_ENTRY') throw error;
  });
  await connection.commit();
  connection.release();
});
await attempt('INSERT IGNORE with a wrong priority', (key, body) => pool.execute(
  `INSERT IGNORE INTO outbox (channel, target, payload, idempotency_key, priority) VALUES ('hooks', ?, ?, ?, 9)`,
  [target, body, key]));
await attempt('INSERT IGNORE, a known key', async (key, body) => {
  await pool.execute(INSERT, [target, body, key]);
  await pool.execute(INSERT.replace('INSERT', 'INSERT IGNORE'), [target, body, key]);
});
await attempt('ON DUPLICATE KEY UPDATE', (key, body) => pool.execute(
  `${INSERT} ON DUPLICATE KEY UPDATE idempotency_key = idempotency_key`, [target, body, key]));
await attempt('a Date of now', (key, body) => pool.execute(INSERT_AT, [target, body, key, new Date()]));
await attempt('a Date in 10 minutes', (key, body) => pool.execute(
  INSERT_AT, [target, body, key, inTenMinutes()]), 600);
await attempt("a Date in 10 minutes, with timezone: 'Z'", (key, body) => utc.execute(
  INSERT_AT, [target, body, key, inTenMinutes()]), 600);
await attempt("a Date in 10 minutes by query, with timezone: 'Z'", (key, body) => utc.query(
  INSERT_AT, [target, JSON.stringify(body), key, inTenMinutes()]), 600);
await attempt('toISOString() in 10 minutes', (key, body) => pool.execute(
  INSERT_AT, [target, body, key, inTenMinutes().toISOString()]), 600);
await attempt('NOW() + INTERVAL 10 MINUTE', (key, body) => pool.execute(
  INSERT_AT.replace(/\?\)$/, 'NOW() + INTERVAL 10 MINUTE)'), [target, body, key]), 600);
await attempt('UTC_TIMESTAMP(6) + INTERVAL 10 MINUTE', (key, body) => pool.execute(
  INSERT_AT.replace(/\?\)$/, 'UTC_TIMESTAMP(6) + INTERVAL 10 MINUTE)'), [target, body, key]), 600);
await attempt('outbox_enqueue, execute, an object, a delay', (key, body) => pool.execute(
  `CALL outbox_enqueue('hooks', ?, ?, ?, ?, @id)`, [target, body, key, { delay_seconds: 600 }]), 600);
await attempt('outbox_enqueue, query, JSON.stringify, a delay', (key, body) => pool.query(
  `CALL outbox_enqueue('hooks', ?, ?, ?, ?, @id)`,
  [target, JSON.stringify(body), key, JSON.stringify({ delay_seconds: 600 })]), 600);
await attempt('outbox_enqueue, a known key', async (key, body) => {
  const connection = await pool.getConnection();
  const call = async () => {
    await connection.execute(`CALL outbox_enqueue('hooks', ?, ?, ?, NULL, @id)`, [target, body, key]);
    const [[{ id }]] = await connection.query('SELECT @id AS id');
    return id;
  };
  const ids = [await call(), await call()];
  connection.release();
  if (ids[0] === null || ids[1] !== null) throw new Error(`the ids are ${ids}`);
});
await attempt('max_attempts = 0', (key, body) => pool.query('INSERT INTO outbox SET ?', {
  channel: 'hooks', target, payload: JSON.stringify(body), idempotency_key: key, max_attempts: 0,
}));
await attempt('expires_at = new Date(0)', (key, body) => pool.query('INSERT INTO outbox SET ?', {
  channel: 'hooks', target, payload: JSON.stringify(body), idempotency_key: key, expires_at: new Date(0),
}));

await Promise.all([pool.end(), utc.end()]);
