import postgres from 'postgres';

const sql = postgres(process.env.DATABASE_URL);
const target = process.env.TARGET;

// docs: begin postgresjs
/** Says whether the message is new. A known key is no error, so the transaction goes on. */
async function enqueue(tx, message) {
  const { count } = await tx`
    INSERT INTO outbox ${tx({ channel: 'hooks', target, ...message })}
    ON CONFLICT (idempotency_key) DO NOTHING`;
  return count === 1;
}

async function placeOrder(id, customer, body) {
  await sql.begin(async (tx) => {
    await tx`INSERT INTO orders ${tx({ id, customer })}`;
    // The object itself: postgres.js would encode the string of JSON.stringify once more.
    await enqueue(tx, { payload: body, idempotency_key: `order-${id}-placed` });
  });
}
// docs: end postgresjs

await placeOrder(1, 'Jürgen 李 🎉', {
  order: 1, customer: 'Jürgen 李 🎉', units: Number.MAX_SAFE_INTEGER, total: '12345678901234567890.12',
});

class PaymentRefused extends Error {}
try {
  await sql.begin(async (tx) => {
    await tx`INSERT INTO orders ${tx({ id: 2, customer: 'Ann' })}`;
    await enqueue(tx, { payload: { order: 2 }, idempotency_key: 'order-2-placed' });
    throw new PaymentRefused();
  });
} catch (error) {
  if (!(error instanceof PaymentRefused)) throw error;
}

await sql.begin(async (tx) => {
  await tx`INSERT INTO orders ${tx({ id: 3, customer: 'Ann' })}`;
  const isNew = await enqueue(tx, { payload: { order: 3 }, idempotency_key: 'order-1-placed' });
  if (isNew) throw new Error('the key should be known');
});

await sql.begin(async (tx) => {
  await tx`INSERT INTO orders ${tx({ id: 4, customer: 'Ann' })}`;
  await tx`SELECT outbox_enqueue('hooks', ${target}, ${{ order: 4 }}::jsonb, 'order-4-reminder', p_delay_seconds => 5)`;
});

await sql.begin(async (tx) => {
  await tx`INSERT INTO orders ${tx({ id: 5, customer: 'Ann' })}`;
  await enqueue(tx, { payload: { order: 5 }, ordering_key: 'customer-7', headers: { 'X-Tenant': '7' } });
});

await placeOrder(6, 'Ann', { order: 6 });

await sql.end();
