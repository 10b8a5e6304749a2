import 'reflect-metadata';
import { Column, DataSource, Entity, type EntityManager, PrimaryColumn, QueryFailedError } from 'typeorm';

const onPostgres = process.env.GUIDE_SERVER === 'postgres';
const target = process.env.TARGET!;

@Entity('orders', { synchronize: false })
class Order {
  @PrimaryColumn('bigint') id: number;
  @Column('varchar') customer: string;
}

// docs: begin typeorm-entity
/** The key is the id, so TypeORM has nothing to read back. It is over the view, and `synchronize` leaves that alone. */
@Entity('outbox_new', { synchronize: false })
class OutboxMessage {
  @PrimaryColumn('varchar', { name: 'idempotency_key' }) idempotencyKey: string;
  @Column('varchar') channel: string;
  @Column('text') target: string;
  @Column(onPostgres ? 'jsonb' : 'json') payload: object;
  @Column(onPostgres ? 'jsonb' : 'json') headers?: object;
  @Column('varchar', { name: 'ordering_key' }) orderingKey?: string;
}
// docs: end typeorm-entity

const source = await new DataSource({
  type: onPostgres ? 'postgres' : 'mysql', url: process.env.DATABASE_URL, entities: [Order, OutboxMessage],
}).initialize();

/** Tries a transaction again that the server rolled back, as MySQL and MariaDB do to end a deadlock over a key. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 3; ; tries -= 1) {
    try {
      return await work();
    } catch (error: any) {
      if (tries === 1 || !['ER_LOCK_DEADLOCK', '40001'].includes(error.driverError?.code)) throw error;
    }
  }
}

// docs: begin typeorm
/** Says whether the message is new. A known key undoes the inner transaction, a savepoint, and the outer one goes on. */
async function enqueue(manager: EntityManager, message: Partial<OutboxMessage>) {
  try {
    // save() would look for the row first, in vain: the view shows none.
    await manager.transaction((inner) => inner.insert(OutboxMessage, { channel: 'hooks', target, ...message }));
    return true;
  } catch (error) {
    const isKnown = error instanceof QueryFailedError && ['23505', 'ER_DUP_ENTRY'].includes(error.driverError.code);
    if (isKnown) return false;
    throw error;
  }
}

async function placeOrder(id: number, customer: string, payload: object) {
  await again(() => source.transaction(async (manager) => {
    await manager.insert(Order, { id, customer });
    await enqueue(manager, { payload, idempotencyKey: `order-${id}-placed` });
  }));
}
// docs: end typeorm

async function enqueueLater(manager: EntityManager, key: string, payload: object, seconds: number) {
  if (onPostgres) {
    await manager.query(`SELECT outbox_enqueue('hooks', $1, $2, $3, p_delay_seconds => $4)`,
      [target, JSON.stringify(payload), key, seconds]);
  } else {
    await manager.query(`CALL outbox_enqueue('hooks', ?, ?, ?, ?, @id)`,
      [target, JSON.stringify(payload), key, JSON.stringify({ delay_seconds: seconds })]);
  }
}

await placeOrder(1, 'Jürgen 李 🎉', {
  order: 1, customer: 'Jürgen 李 🎉', units: Number.MAX_SAFE_INTEGER, total: '12345678901234567890.12',
});

class PaymentRefused extends Error {}
try {
  await source.transaction(async (manager) => {
    await manager.insert(Order, { id: 2, customer: 'Ann' });
    await enqueue(manager, { payload: { order: 2 }, idempotencyKey: 'order-2-placed' });
    throw new PaymentRefused();
  });
} catch (error) {
  if (!(error instanceof PaymentRefused)) throw error;
}

await source.transaction(async (manager) => {
  await manager.insert(Order, { id: 3, customer: 'Ann' });
  const isNew = await enqueue(manager, { payload: { order: 3 }, idempotencyKey: 'order-1-placed' });
  if (isNew) throw new Error('the key should be known');
});

await source.transaction(async (manager) => {
  await manager.insert(Order, { id: 4, customer: 'Ann' });
  await enqueueLater(manager, 'order-4-reminder', { order: 4 }, 5);
});

await source.transaction(async (manager) => {
  await manager.insert(Order, { id: 5, customer: 'Ann' });
  await enqueue(manager, { payload: { order: 5 }, orderingKey: 'customer-7', headers: { 'X-Tenant': '7' } });
});

await placeOrder(6, 'Ann', { order: 6 });

await source.destroy();
