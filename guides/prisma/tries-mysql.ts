import { PrismaMariaDb } from '@prisma/adapter-mariadb';
import { attemptsWith } from './attempt.js';
import { Prisma, PrismaClient } from './generated/tries-mysql/client.js';

const attempt = attemptsWith('Prisma');
const { DB_HOST: host, DB_PORT: port, DB_USER: user, DB_PASSWORD: password, DB_NAME: database } = process.env;
const adapter = new PrismaMariaDb({ host, port: Number(port), user, password, database });
const prisma = new PrismaClient({ adapter });
const target = process.env.TARGET!;
const row = (key: string, payload: any, more = {}) => ({ target, payload, idempotencyKey: key, ...more });
const inTenMinutes = () => new Date(Date.now() + 600_000);

await attempt('create, the table', (key, body) => prisma.onTable.create({ data: row(key, body) }));
await attempt('create, the table, select: { id: true }', (key, body) => prisma.onTable.create({
  data: row(key, body), select: { id: true },
}));
await attempt('create, the view', (key, body) => prisma.onView.create({ data: row(key, body) }));
await attempt('createMany, the table', (key, body) => prisma.onTable.createMany({
  data: [row(key, body), row(`${key}-second`, { second: true })],
}));
await attempt('createMany, the view', (key, body) => prisma.onView.createMany({
  data: [row(key, body), row(`${key}-second`, { second: true })],
}));
await attempt('createMany, the view, one with a priority', (key, body) => prisma.onView.createMany({
  data: [row(key, body), row(`${key}-second`, { second: true }, { priority: 1 })],
}));
await attempt('createMany, skipDuplicates, a known key', async (key, body) => {
  await prisma.onView.createMany({ data: [row(key, body)] });
  await prisma.onView.createMany({ data: [row(key, body)], skipDuplicates: true });
});
await attempt('createMany, skipDuplicates, with a wrong priority', (key, body) => prisma.onView.createMany({
  data: [row(key, body, { priority: 9 })], skipDuplicates: true,
}));
await attempt('upsert, the table', (key, body) => prisma.onTable.upsert({
  where: { idempotencyKey: key }, create: row(key, body), update: {},
}));
await attempt('upsert, the view', (key, body) => prisma.onView.upsert({
  where: { idempotencyKey: key }, create: row(key, body), update: {},
}));
await attempt('a known key, caught, and the transaction goes on', (key, body) => prisma.$transaction(async (tx) => {
  await tx.onView.createMany({ data: [row(key, body)] });
  await tx.onView.createMany({ data: [row(key, body)] }).catch((error) => {
    if (!(error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002')) throw error;
  });
  await tx.$executeRaw`UPDATE orders SET state = 'paid' WHERE id = 1`;
}));
await attempt('JSON.stringify as the payload', (key, body) => prisma.onView.createMany({ data: [row(key, JSON.stringify(body))] }));
await attempt('an array as the payload', async (key, body) => {
  await prisma.onView.createMany({ data: [row(`${key}-array`, [body])] });
  await prisma.onView.createMany({ data: [row(key, body)] });
});
await attempt('availableAt: new Date()', (key, body) => prisma.onTable.createMany({
  data: [row(key, body, { availableAt: new Date() })],
}));
await attempt('availableAt: a Date in 10 minutes', (key, body) => prisma.onTable.createMany({
  data: [row(key, body, { availableAt: inTenMinutes() })],
}), 600);
await attempt('$executeRaw, an object', (key, body) => prisma.$executeRaw`
  INSERT INTO outbox (channel, target, payload, idempotency_key) VALUES ('hooks', ${target}, ${body}, ${key})`);
await attempt('$executeRaw, JSON.stringify', (key, body) => prisma.$executeRaw`
  INSERT INTO outbox (channel, target, payload, idempotency_key)
  VALUES ('hooks', ${target}, ${JSON.stringify(body)}, ${key})`);
await attempt('$executeRaw, outbox_enqueue, JSON.stringify, a delay', (key, body) => prisma.$executeRaw`
  CALL outbox_enqueue('hooks', ${target}, ${JSON.stringify(body)}, ${key}, ${JSON.stringify({ delay_seconds: 600 })}, @id)`, 600);
await attempt('$executeRaw, outbox_enqueue, an object', (key, body) => prisma.$executeRaw`
  CALL outbox_enqueue('hooks', ${target}, ${body}, ${key}, NULL, @id)`);

await prisma.$disconnect();
