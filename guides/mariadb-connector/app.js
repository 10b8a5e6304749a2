import mariadb from 'mariadb';

const { DB_HOST: host, DB_PORT: port, DB_USER: user, DB_PASSWORD: password, DB_NAME: database } = process.env;
const pool = mariadb.createPool({ host, port: Number(port), user, password, database });
const target = process.env.TARGET;

/** Runs `work` in a transaction. Each query of it must go by this connection: the pool would take another one. */
async function transaction(work) {
  const connection = await pool.getConnection();
  try {
    await connection.beginTransaction();
    await work(connection);
    await connection.commit();
  } catch (error) {
    await connection.rollback();
    throw error;
  } finally {
    connection.release();
  }
}

/** Tries a transaction again that the server rolled back, as MySQL and MariaDB do to end a deadlock over a key. */
async function again(work) {
  for (let tries = 3; ; tries -= 1) {
    try {
      return await work();
    } catch (error) {
      if (tries === 1 || error.code !== 'ER_LOCK_DEADLOCK') throw error;
    }
  }
}

/** Says whether the message is new. A known key undoes the insert alone, so the transaction goes on. */
async function enqueue(connection, key, body) {
  try {
    await connection.execute(
      `INSERT INTO outbox (channel, target, payload, idempotency_key) VALUES ('hooks', ?, ?, ?)`,
      [target, JSON.stringify(body), key]);
    return true;
  } catch (error) {
    if (error.code === 'ER_DUP_ENTRY') return false;
    throw error;
  }
}

async function placeOrder(id, customer, body) {
  await again(() => transaction(async (connection) => {
    await connection.execute('INSERT INTO orders (id, customer) VALUES (?, ?)', [id, customer]);
    await enqueue(connection, `order-${id}-placed`, body);
  }));
}

await placeOrder(1, 'Jürgen 李 🎉', {
  order: 1, customer: 'Jürgen 李 🎉', units: Number.MAX_SAFE_INTEGER, total: '12345678901234567890.12',
});

class PaymentRefused extends Error {}
try {
  await transaction(async (connection) => {
    await connection.execute('INSERT INTO orders (id, customer) VALUES (2, ?)', ['Ann']);
    await enqueue(connection, 'order-2-placed', { order: 2 });
    throw new PaymentRefused();
  });
} catch (error) {
  if (!(error instanceof PaymentRefused)) throw error;
}

await transaction(async (connection) => {
  await connection.execute('INSERT INTO orders (id, customer) VALUES (3, ?)', ['Ann']);
  if (await enqueue(connection, 'order-1-placed', { order: 3 })) throw new Error('the key should be known');
});

await transaction(async (connection) => {
  await connection.execute('INSERT INTO orders (id, customer) VALUES (4, ?)', ['Ann']);
  await connection.execute(
    `CALL outbox_enqueue('hooks', ?, ?, 'order-4-reminder', ?, @id)`,
    [target, JSON.stringify({ order: 4 }), JSON.stringify({ delay_seconds: 5 })]);
});

await transaction(async (connection) => {
  await connection.execute('INSERT INTO orders (id, customer) VALUES (5, ?)', ['Ann']);
  await connection.execute(
    `INSERT INTO outbox (channel, target, payload, ordering_key, headers) VALUES ('hooks', ?, ?, ?, ?)`,
    [target, JSON.stringify({ order: 5 }), 'customer-7', JSON.stringify({ 'X-Tenant': '7' })]);
});

await placeOrder(6, 'Ann', { order: 6 });

await pool.end();
