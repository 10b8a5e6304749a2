import { DataTypes, Sequelize } from 'sequelize';
import { attemptsWith } from './attempt.js';

const attempt = attemptsWith('Sequelize');
const url = process.env.DATABASE_URL;
const sequelize = new Sequelize(url, { logging: false });
const onPostgres = sequelize.getDialect() === 'postgres';
const target = process.env.TARGET;

const columns = {
  idempotencyKey: { type: DataTypes.STRING, primaryKey: true },
  channel: { type: DataTypes.STRING, defaultValue: 'hooks' },
  target: { type: DataTypes.TEXT, defaultValue: target },
  payload: DataTypes.JSON,
  priority: DataTypes.INTEGER,
};
const withTime = { ...columns, availableAt: DataTypes.DATE(6) };
const id = { type: DataTypes.BIGINT, primaryKey: true, autoIncrement: true };
const withId = { id, ...columns, idempotencyKey: DataTypes.STRING };
const model = (attributes, tableName, more, on = sequelize) => on.define(
  `Message${tableName}`, attributes, { tableName, underscored: true, timestamps: false, ...more });
const OnTable = model(columns, 'outbox');
const OnView = model(columns, 'outbox_new');
// MySQL's view has no times.
const timed = (on = sequelize) => model(withTime, onPostgres ? 'outbox_new' : 'outbox', {}, on);
const row = (key, payload, more) => ({ idempotencyKey: key, payload, ...more });
const inTenMinutes = () => new Date(Date.now() + 600_000);

await attempt('create, a model of the table', (key, body) => OnTable.create(row(key, body)));
await attempt("create, a model of the table, returning: ['id']", (key, body) => OnTable.create(row(key, body), { returning: ['id'] }));
await attempt('create, a model of the table, returning: false', (key, body) => OnTable.create(row(key, body), { returning: false }));
await attempt('create, a model of the table with an id', (key, body) => model(withId, 'outbox').create(row(key, body)));
await attempt('create, a model of the view', (key, body) => OnView.create(row(key, body)));
await attempt('create, a model of the view with an id', (key, body) => model(withId, 'outbox_new').create(row(key, body)));
await attempt('create, a model of the view with timestamps', (key, body) => model(
  columns, 'outbox_new', { timestamps: true }).create(row(key, body)));
await attempt('create, a model of the view with createdAt alone', (key, body) => model(
  columns, 'outbox_new', { timestamps: true, updatedAt: false }).create(row(key, body)));
await attempt('build and save', (key, body) => model(columns, 'outbox_new').build(row(key, body)).save());
await attempt('bulkCreate of the table', (key, body) => OnTable.bulkCreate([row(key, body), row(`${key}-second`, { second: true })]));
await attempt('bulkCreate of the view', (key, body) => OnView.bulkCreate([row(key, body), row(`${key}-second`, { second: true })]));
await attempt('bulkCreate, ignoreDuplicates, a known key', async (key, body) => {
  await OnView.create(row(key, body));
  await OnView.bulkCreate([row(key, body)], { ignoreDuplicates: true });
});
await attempt('bulkCreate, ignoreDuplicates, with a wrong priority', (key, body) => OnView.bulkCreate(
  [row(key, body, { priority: 9 })], { ignoreDuplicates: true }));
await attempt('bulkCreate, updateOnDuplicate', (key, body) => OnView.bulkCreate([row(key, body)], { updateOnDuplicate: ['payload'] }));
await attempt('findOrCreate of the table', (key, body) => OnTable.findOrCreate({
  where: { idempotencyKey: key }, defaults: row(key, body),
}));
await attempt('findOrCreate of the view', (key, body) => OnView.findOrCreate({
  where: { idempotencyKey: key }, defaults: row(key, body),
}));
await attempt('create, no key and no default for it', async (key, body) => {
  await OnView.create({ payload: { second: true } });
  await OnView.create(row(key, body));
});
await attempt('upsert', (key, body) => OnView.upsert(row(key, body)));
await attempt('a known key, caught, and the transaction goes on', (key, body) => sequelize.transaction(async (transaction) => {
  await OnView.create(row(key, body), { transaction });
  await OnView.create(row(key, body), { transaction }).catch(() => {});
  await sequelize.query(`UPDATE orders SET state = 'paid' WHERE id = 1`, { transaction });
}));
await attempt('JSON.stringify as the payload', (key, body) => OnView.create(row(key, JSON.stringify(body))));
await attempt('null as the payload', (key) => OnView.create(row(key, null)));
await attempt('an array as the payload', async (key, body) => {
  await OnView.create(row(`${key}-array`, [body]));
  await OnView.create(row(key, body));
});
await attempt('availableAt: new Date()', (key, body) => timed().create(row(key, body, { availableAt: new Date() })));
await attempt('availableAt: a Date in 10 minutes', (key, body) => timed().create(row(key, body, { availableAt: inTenMinutes() })), 600);
await attempt('availableAt: NOW', (key, body) => timed().create(row(key, body, { availableAt: sequelize.fn('NOW') })));
const seoul = new Sequelize(url, { logging: false, timezone: '+09:00' });
await attempt("availableAt: a Date in 10 minutes, with timezone: '+09:00'", (key, body) => timed(seoul).create(
  row(key, body, { availableAt: inTenMinutes() })), 600);
await seoul.close();
await attempt('query, outbox_enqueue, JSON.stringify, a delay', (key, body) => sequelize.query(
  onPostgres
    ? `SELECT outbox_enqueue('hooks', :target, :payload, :key, p_delay_seconds => 600)`
    : `CALL outbox_enqueue('hooks', :target, :payload, :key, '{"delay_seconds": 600}', @id)`,
  { replacements: { target, payload: JSON.stringify(body), key } }), 600);
await attempt('query, outbox_enqueue, an object', (key, body) => sequelize.query(
  onPostgres
    ? `SELECT outbox_enqueue('hooks', :target, :payload, :key)`
    : `CALL outbox_enqueue('hooks', :target, :payload, :key, NULL, @id)`,
  { replacements: { target, payload: body, key } }));

await sequelize.close();
