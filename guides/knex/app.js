import Knex from 'knex';

const onPostgres = process.env.GUIDE_SERVER === 'postgres';
const knex = Knex({ client: onPostgres ? 'pg' : 'mysql2', connection: process.env.DATABASE_URL });
const target = process.env.TARGET;

const row = ({ payload, headers, ...columns }) => ({
  channel: 'hooks', target, payload: JSON.stringify(payload), headers: headers && JSON.stringify(headers), ...columns,
});

// docs: begin knex-postgres
/** Says whether the message is new. A known key is no error, so the transaction goes on. */
async function enqueueOnPostgres(trx, message) {
  const { rowCount } = await trx('outbox').insert(row(message)).onConflict('idempotency_key').ignore();
  return rowCount === 1;
}

async function enqueueLaterOnPostgres(trx, key, payload, seconds) {
  await trx.raw(`SELECT outbox_enqueue('hooks', :target, :payload, :key, p_delay_seconds => :seconds)`,
    { target, payload: JSON.stringify(payload), key, seconds });
}
// docs: end knex-postgres

// docs: begin knex-mysql
/** Says whether the message is new. A known key undoes the insert alone, so the transaction goes on. */
async function enqueueOnMysql(trx, message) {
  try {
    // Not onConflict().ignore(): it says INSERT IGNORE, which hides other errors, and the message is lost.
    await trx('outbox').insert(row(message));
    return true;
  } catch (error) {
    if (error.code === 'ER_DUP_ENTRY') return false;
    throw error;
  }
}

async function enqueueLaterOnMysql(trx, key, payload, seconds) {
  await trx.raw(`CALL outbox_enqueue('hooks', ?, ?, ?, ?, @id)`,
    [target, JSON.stringify(payload), key, JSON.stringify({ delay_seconds: seconds })]);
}
// docs: end knex-mysql

const enqueue = onPostgres ? enqueueOnPostgres : enqueueOnMysql;
const enqueueLater = onPostgres ? enqueueLaterOnPostgres : enqueueLaterOnMysql;

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

// docs: begin knex
async function placeOrder(id, customer, payload) {
  await again(() => knex.transaction(async (trx) => {
    await trx('orders').insert({ id, customer });
    await enqueue(trx, { payload, idempotency_key: `order-${id}-placed` });
  }));
}
// docs: end knex

await placeOrder(1, 'Jürgen 李 🎉', {
  order: 1, customer: 'Jürgen 李 🎉', units: Number.MAX_SAFE_INTEGER, total: '12345678901234567890.12',
});

class PaymentRefused extends Error {}
try {
  await knex.transaction(async (trx) => {
    await trx('orders').insert({ id: 2, customer: 'Ann' });
    await enqueue(trx, { payload: { order: 2 }, idempotency_key: 'order-2-placed' });
    throw new PaymentRefused();
  });
} catch (error) {
  if (!(error instanceof PaymentRefused)) throw error;
}

await knex.transaction(async (trx) => {
  await trx('orders').insert({ id: 3, customer: 'Ann' });
  const isNew = await enqueue(trx, { payload: { order: 3 }, idempotency_key: 'order-1-placed' });
  if (isNew) throw new Error('the key should be known');
});

await knex.transaction(async (trx) => {
  await trx('orders').insert({ id: 4, customer: 'Ann' });
  await enqueueLater(trx, 'order-4-reminder', { order: 4 }, 5);
});

await knex.transaction(async (trx) => {
  await trx('orders').insert({ id: 5, customer: 'Ann' });
  await enqueue(trx, { payload: { order: 5 }, ordering_key: 'customer-7', headers: { 'X-Tenant': '7' } });
});

await placeOrder(6, 'Ann', { order: 6 });

await knex.destroy();
