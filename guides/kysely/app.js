import { Kysely, MysqlDialect, PostgresDialect, sql } from 'kysely';
import mysql from 'mysql2';
import pg from 'pg';

const onPostgres = process.env.GUIDE_SERVER === 'postgres';
const db = new Kysely({
  dialect: onPostgres
    ? new PostgresDialect({ pool: new pg.Pool({ connectionString: process.env.DATABASE_URL }) })
    : new MysqlDialect({ pool: mysql.createPool(process.env.DATABASE_URL) }),
});
const target = process.env.TARGET;

const row = ({ payload, headers, ...columns }) => ({
  channel: 'hooks', target, payload: JSON.stringify(payload), headers: headers && JSON.stringify(headers), ...columns,
});

// docs: begin kysely-postgres
/** Says whether the message is new. A known key is no error, so the transaction goes on. */
async function enqueueOnPostgres(trx, message) {
  const written = await trx.insertInto('outbox').values(row(message))
    .onConflict((conflict) => conflict.column('idempotency_key').doNothing())
    .returning('id').executeTakeFirst();
  return written !== undefined;
}

async function enqueueLaterOnPostgres(trx, key, payload, seconds) {
  await sql`SELECT outbox_enqueue('hooks', ${target}, ${JSON.stringify(payload)}, ${key}, p_delay_seconds => ${seconds})`
    .execute(trx);
}
// docs: end kysely-postgres

// docs: begin kysely-mysql
/** Says whether the message is new. A known key undoes the insert alone, so the transaction goes on. */
async function enqueueOnMysql(trx, message) {
  try {
    // Not ignore(): it hides other errors too, and the message is lost.
    await trx.insertInto('outbox').values(row(message)).execute();
    return true;
  } catch (error) {
    if (error.code === 'ER_DUP_ENTRY') return false;
    throw error;
  }
}

async function enqueueLaterOnMysql(trx, key, payload, seconds) {
  const options = JSON.stringify({ delay_seconds: seconds });
  await sql`CALL outbox_enqueue('hooks', ${target}, ${JSON.stringify(payload)}, ${key}, ${options}, @id)`.execute(trx);
}
// docs: end kysely-mysql

const enqueue = onPostgres ? enqueueOnPostgres : enqueueOnMysql;
const enqueueLater = onPostgres ? enqueueLaterOnPostgres : enqueueLaterOnMysql;
const insertOrder = (trx, id, customer = 'Ann') => trx.insertInto('orders').values({ id, customer }).execute();

/** Tries a transaction again that the server rolled back, as MySQL and MariaDB do to end a deadlock over a key. */
async function again(work) {
  for (let tries = 3; ; tries -= 1) {
    try {
      return await work();
    } catch (error) {
      if (tries === 1 || !['ER_LOCK_DEADLOCK', '40001'].includes(error.code)) throw error;
    }
  }
}

// docs: begin kysely
async function placeOrder(id, customer, payload) {
  await again(() => db.transaction().execute(async (trx) => {
    await trx.insertInto('orders').values({ id, customer }).execute();
    await enqueue(trx, { payload, idempotency_key: `order-${id}-placed` });
  }));
}
// docs: end kysely

await placeOrder(1, 'Jürgen 李 🎉', {
  order: 1, customer: 'Jürgen 李 🎉', units: Number.MAX_SAFE_INTEGER, total: '12345678901234567890.12',
});

class PaymentRefused extends Error {}
try {
  await db.transaction().execute(async (trx) => {
    await insertOrder(trx, 2);
    await enqueue(trx, { payload: { order: 2 }, idempotency_key: 'order-2-placed' });
    throw new PaymentRefused();
  });
} catch (error) {
  if (!(error instanceof PaymentRefused)) throw error;
}

await db.transaction().execute(async (trx) => {
  await insertOrder(trx, 3);
  const isNew = await enqueue(trx, { payload: { order: 3 }, idempotency_key: 'order-1-placed' });
  if (isNew) throw new Error('the key should be known');
});

await db.transaction().execute(async (trx) => {
  await insertOrder(trx, 4);
  await enqueueLater(trx, 'order-4-reminder', { order: 4 }, 5);
});

await db.transaction().execute(async (trx) => {
  await insertOrder(trx, 5);
  await enqueue(trx, { payload: { order: 5 }, ordering_key: 'customer-7', headers: { 'X-Tenant': '7' } });
});

await placeOrder(6, 'Ann', { order: 6 });

await db.destroy();
