import { PrismaMariaDb } from '@prisma/adapter-mariadb';
import { Prisma, PrismaClient } from './generated/mysql/client.js';

const { DB_HOST: host, DB_PORT: port, DB_USER: user, DB_PASSWORD: password, DB_NAME: database } = process.env;
const adapter = new PrismaMariaDb({ host, port: Number(port), user, password, database });
const prisma = new PrismaClient({ adapter });
const target = process.env.TARGET!;

/** Tries a transaction again that the server rolled back, as MySQL and MariaDB do to end a deadlock over a key. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 3; ; tries -= 1) {
    try {
      return await work();
    } catch (error: any) {
      if (tries === 1 || error.code !== 'P2034') throw error;
    }
  }
}

/** Says whether the message is new. A known key undoes the insert alone, so the transaction goes on. */
async function enqueue(tx: Prisma.TransactionClient, message: Omit<Prisma.OutboxMessageCreateManyInput, 'target'>) {
  try {
    // Without skipDuplicates: it says INSERT IGNORE, which hides other errors, and the message is lost.
    await tx.outboxMessage.createMany({ data: [{ target, ...message }] });
    return true;
  } catch (error) {
    const isKnown = error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002';
    if (isKnown) return false;
    throw error;
  }
}

async function placeOrder(id: number, customer: string, payload: Prisma.InputJsonObject) {
  await again(() => prisma.$transaction(async (tx) => {
    await tx.order.create({ data: { id, customer } });
    await enqueue(tx, { payload, idempotencyKey: `order-${id}-placed` });
  }));
}

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
  const options = JSON.stringify({ delay_seconds: 5 });
  await tx.$executeRaw`CALL outbox_enqueue('hooks', ${target}, ${payload}, 'order-4-reminder', ${options}, @id)`;
});

await prisma.$transaction(async (tx) => {
  await tx.order.create({ data: { id: 5, customer: 'Ann' } });
  await enqueue(tx, { payload: { order: 5 }, orderingKey: 'customer-7', headers: { 'X-Tenant': '7' } });
});

await placeOrder(6, 'Ann', { order: 6 });

await prisma.$disconnect();
