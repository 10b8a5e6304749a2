import { PrismaPg } from '@prisma/adapter-pg';
import { type Prisma, PrismaClient } from './generated/postgres/client.js';

const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: process.env.DATABASE_URL }) });
const target = process.env.TARGET!;

// docs: begin prisma-postgres
/** Says whether the message is new. A known key is no error, so the transaction goes on. */
async function enqueue(tx: Prisma.TransactionClient, message: Omit<Prisma.OutboxMessageCreateManyInput, 'target'>) {
  const { count } = await tx.outboxMessage.createMany({ data: [{ target, ...message }], skipDuplicates: true });
  return count === 1;
}

async function placeOrder(id: number, customer: string, payload: Prisma.InputJsonObject) {
  await prisma.$transaction(async (tx) => {
    await tx.order.create({ data: { id, customer } });
    await enqueue(tx, { payload, idempotencyKey: `order-${id}-placed` });
  });
}
// docs: end prisma-postgres

await placeOrder(1, 'Jürgen 李 🎉', {
  order: 1, customer: 'Jürgen 李 🎉', units: Number.MAX_SAFE_INTEGER, total: '12345678901234567890.12',
});

class PaymentRefused extends Error {}
try {
  await prisma.$transaction(async (tx) => {
    await tx.order.create({ data: { id: 2, customer: 'Ann' } });
    await enqueue(tx, { payload: { order: 2 }, idempotencyKey: 'order-2-placed' });
    throw new PaymentRefused();
  });
} catch (error) {
  if (!(error instanceof PaymentRefused)) throw error;
}

await prisma.$transaction(async (tx) => {
  await tx.order.create({ data: { id: 3, customer: 'Ann' } });
  const isNew = await enqueue(tx, { payload: { order: 3 }, idempotencyKey: 'order-1-placed' });
  if (isNew) throw new Error('the key should be known');
});

await prisma.$transaction(async (tx) => {
  await tx.order.create({ data: { id: 4, customer: 'Ann' } });
  const payload = JSON.stringify({ order: 4 });
  await tx.$queryRaw`SELECT outbox_enqueue('hooks', ${target}, ${payload}, 'order-4-reminder', p_delay_seconds => 5)`;
});

await prisma.$transaction(async (tx) => {
  await tx.order.create({ data: { id: 5, customer: 'Ann' } });
  await enqueue(tx, { payload: { order: 5 }, orderingKey: 'customer-7', headers: { 'X-Tenant': '7' } });
});

await placeOrder(6, 'Ann', { order: 6 });

await prisma.$disconnect();
