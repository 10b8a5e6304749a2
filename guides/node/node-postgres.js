import pg from 'pg';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
const target = process.env.TARGET;

/** Runs `work` in a transaction. Each query of it must go by this client: the pool would take another connection. */
async function transaction(work) {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await work(client);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    client.release();
  }
}

// docs: begin node-postgres
/** Says whether the message is new. A known key is no error, so the transaction goes on. */
async function enqueue(client, key, body) {
  const { rowCount } = await client.query(
    `INSERT INTO outbox (channel, target, payload, idempotency_key) VALUES ('hooks', $1, $2, $3)
     ON CONFLICT (idempotency_key) DO NOTHING`,
    [target, JSON.stringify(body), key]);
  return rowCount === 1;
}

async function placeOrder(id, customer, body) {
  await transaction(async (client) => {
    await client.query('INSERT INTO orders (id, customer) VALUES ($1, $2)', [id, customer]);
    await enqueue(client, `order-${id}-placed`, body);
  });
}
// docs: end node-postgres

await placeOrder(1, 'Jürgen 李 🎉', {
  order: 1, customer: 'Jürgen 李 🎉', units: Number.MAX_SAFE_INTEGER, total: '12345678901234567890.12',
});

class PaymentRefused extends Error {}
try {
  await transaction(async (client) => {
    await client.query('INSERT INTO orders (id, customer) VALUES (2, $1)', ['Ann']);
    await enqueue(client, 'order-2-placed', { order: 2 });
    throw new PaymentRefused();
  });
} catch (error) {
  if (!(error instanceof PaymentRefused)) throw error;
}

await transaction(async (client) => {
  await client.query('INSERT INTO orders (id, customer) VALUES (3, $1)', ['Ann']);
  if (await enqueue(client, 'order-1-placed', { order: 3 })) throw new Error('the key should be known');
});

await transaction(async (client) => {
  await client.query('INSERT INTO orders (id, customer) VALUES (4, $1)', ['Ann']);
  await client.query(
    `SELECT outbox_enqueue('hooks', $1, $2, 'order-4-reminder', p_delay_seconds => 5)`,
    [target, JSON.stringify({ order: 4 })]);
});

await transaction(async (client) => {
  await client.query('INSERT INTO orders (id, customer) VALUES (5, $1)', ['Ann']);
  await client.query(
    `INSERT INTO outbox (channel, target, payload, ordering_key, headers) VALUES ('hooks', $1, $2, $3, $4)`,
    [target, JSON.stringify({ order: 5 }), 'customer-7', JSON.stringify({ 'X-Tenant': '7' })]);
});

await placeOrder(6, 'Ann', { order: 6 });

await pool.end();
