import { DataTypes, Sequelize, UniqueConstraintError } from 'sequelize';

const sequelize = new Sequelize(process.env.DATABASE_URL, { logging: false });
const target = process.env.TARGET;

const Order = sequelize.define('Order', {
  id: { type: DataTypes.BIGINT, primaryKey: true },
  customer: { type: DataTypes.STRING, allowNull: false },
}, { tableName: 'orders', timestamps: false });

// docs: begin sequelize-model
/** Over the view: Sequelize reads back what it wrote, which the application may not do on the table. */
const OutboxMessage = sequelize.define('OutboxMessage', {
  idempotencyKey: { type: DataTypes.STRING, primaryKey: true, defaultValue: DataTypes.UUIDV4 },
  channel: { type: DataTypes.STRING, defaultValue: 'hooks' },
  target: { type: DataTypes.TEXT, defaultValue: target },
  payload: DataTypes.JSON,
  headers: DataTypes.JSON,
  orderingKey: DataTypes.STRING,
}, { tableName: 'outbox_new', underscored: true, timestamps: false });
// docs: end sequelize-model

/** Tries a transaction again that the server rolled back, as MySQL and MariaDB do to end a deadlock over a key. */
async function again(work) {
  for (let tries = 3; ; tries -= 1) {
    try {
      return await work();
    } catch (error) {
      if (tries === 1 || !['ER_LOCK_DEADLOCK', '40001'].includes(error.original?.code)) throw error;
    }
  }
}

// docs: begin sequelize
/** Says whether the message is new. A known key undoes the inner transaction, a savepoint, and the outer one goes on. */
async function enqueue(message, transaction) {
  try {
    await sequelize.transaction({ transaction }, (inner) => OutboxMessage.create(message, { transaction: inner }));
    return true;
  } catch (error) {
    if (error instanceof UniqueConstraintError) return false;
    throw error;
  }
}

async function placeOrder(id, customer, payload) {
  await again(() => sequelize.transaction(async (transaction) => {
    await Order.create({ id, customer }, { transaction });
    await enqueue({ payload, idempotencyKey: `order-${id}-placed` }, transaction);
  }));
}
// docs: end sequelize

const CALL = {
  postgres: `SELECT outbox_enqueue('hooks', :target, :payload, :key, p_delay_seconds => :seconds)`,
  mysql: `CALL outbox_enqueue('hooks', :target, :payload, :key, JSON_OBJECT('delay_seconds', :seconds), @id)`,
};

async function enqueueLater(key, payload, seconds, transaction) {
  await sequelize.query(CALL[sequelize.getDialect()], {
    replacements: { target, payload: JSON.stringify(payload), key, seconds }, transaction,
  });
}

await placeOrder(1, 'Jürgen 李 🎉', {
  order: 1, customer: 'Jürgen 李 🎉', units: Number.MAX_SAFE_INTEGER, total: '12345678901234567890.12',
});

class PaymentRefused extends Error {}
try {
  await sequelize.transaction(async (transaction) => {
    await Order.create({ id: 2, customer: 'Ann' }, { transaction });
    await enqueue({ payload: { order: 2 }, idempotencyKey: 'order-2-placed' }, transaction);
    throw new PaymentRefused();
  });
} catch (error) {
  if (!(error instanceof PaymentRefused)) throw error;
}

await sequelize.transaction(async (transaction) => {
  await Order.create({ id: 3, customer: 'Ann' }, { transaction });
  const isNew = await enqueue({ payload: { order: 3 }, idempotencyKey: 'order-1-placed' }, transaction);
  if (isNew) throw new Error('the key should be known');
});

await sequelize.transaction(async (transaction) => {
  await Order.create({ id: 4, customer: 'Ann' }, { transaction });
  await enqueueLater('order-4-reminder', { order: 4 }, 5, transaction);
});

await sequelize.transaction(async (transaction) => {
  await Order.create({ id: 5, customer: 'Ann' }, { transaction });
  await enqueue({ payload: { order: 5 }, orderingKey: 'customer-7', headers: { 'X-Tenant': '7' } }, transaction);
});

await placeOrder(6, 'Ann', { order: 6 });

await sequelize.close();
