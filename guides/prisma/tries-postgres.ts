import { PrismaPg } from '@prisma/adapter-pg';
import { attemptsWith } from './attempt.js';
import { PrismaClient } from './generated/tries-postgres/client.js';

const attempt = attemptsWith('Prisma');
const connectionString = process.env.DATABASE_URL;
const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString }) });
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
await attempt('createManyAndReturn, the view', (key, body) => prisma.onView.createManyAndReturn({ data: [row(key, body)] }));
await attempt('createMany, skipDuplicates, a known key', async (key, body) => {
  await prisma.onView.create({ data: row(key, body) });
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
  await tx.onView.create({ data: row(key, body) });
  await tx.onView.create({ data: row(key, body) }).catch(() => {});
  await tx.$executeRaw`UPDATE orders SET state = 'paid' WHERE id = 1`;
}));
await attempt('JSON.stringify as the payload', (key, body) => prisma.onView.create({ data: row(key, JSON.stringify(body)) }));
await attempt('an array as the payload', async (key, body) => {
  await prisma.onView.create({ data: row(`${key}-array`, [body]) });
  await prisma.onView.create({ data: row(key, body) });
});
await attempt('availableAt: new Date()', (key, body) => prisma.onView.create({ data: row(key, body, { availableAt: new Date() }) }));
await attempt('availableAt: a Date in 10 minutes', (key, body) => prisma.onView.create({
  data: row(key, body, { availableAt: inTenMinutes() }),
}), 600);
const utc = new PrismaClient({ adapter: new PrismaPg({ connectionString, options: '-c timezone=UTC' }) });
await attempt('availableAt: a Date in 10 minutes, in a session with timezone=UTC', (key, body) => utc.onView.create({
  data: row(key, body, { availableAt: inTenMinutes() }),
}), 600);
await utc.$disconnect();
await attempt('$executeRaw, a Date in 10 minutes', (key, body) => prisma.$executeRaw`
  INSERT INTO outbox (channel, target, payload, idempotency_key, available_at)
  VALUES ('hooks', ${target}, ${body}, ${key}, ${inTenMinutes()})`, 600);
await attempt('$executeRaw, an object', (key, body) => prisma.$executeRaw`
  INSERT INTO outbox (channel, target, payload, idempotency_key) VALUES ('hooks', ${target}, ${body}, ${key})`);
await attempt('$executeRaw, JSON.stringify', (key, body) => prisma.$executeRaw`
  INSERT INTO outbox (channel, target, payload, idempotency_key)
  VALUES ('hooks', ${target}, ${JSON.stringify(body)}, ${key})`);
await attempt('$executeRaw, JSON.stringify and ::jsonb', (key, body) => prisma.$executeRaw`
  INSERT INTO outbox (channel, target, payload, idempotency_key)
  VALUES ('hooks', ${target}, ${JSON.stringify(body)}::jsonb, ${key})`);
await attempt('$queryRaw, outbox_enqueue, an object', (key, body) => prisma.$queryRaw`
  SELECT outbox_enqueue('hooks', ${target}, ${body}, ${key})`);
await attempt('$queryRaw, outbox_enqueue, JSON.stringify, a delay', (key, body) => prisma.$queryRaw`
  SELECT outbox_enqueue('hooks', ${target}, ${JSON.stringify(body)}, ${key}, p_delay_seconds => 600)`, 600);

await prisma.$disconnect();
