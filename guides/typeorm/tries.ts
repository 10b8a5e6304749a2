import 'reflect-metadata';
import {
  Column, CreateDateColumn, DataSource, type DataSourceOptions, Entity, PrimaryColumn, PrimaryGeneratedColumn,
  UpdateDateColumn,
} from 'typeorm';
import { attemptsWith } from './attempt.js';

const attempt = attemptsWith('TypeORM');
const onPostgres = process.env.GUIDE_SERVER === 'postgres';
const target = process.env.TARGET!;
const json = onPostgres ? 'jsonb' : 'json';
const time = onPostgres ? 'timestamptz' : 'datetime';

abstract class Columns {
  @Column('varchar') channel: string;
  @Column('text') target: string;
  @Column(json) payload: unknown;
}
abstract class WithId extends Columns {
  @PrimaryGeneratedColumn({ type: 'bigint' }) id: string;
  @Column('varchar', { name: 'idempotency_key' }) idempotencyKey: string;
}
abstract class WithKey extends Columns {
  @PrimaryColumn('varchar', { name: 'idempotency_key' }) idempotencyKey: string;
}
const here = { synchronize: false };
@Entity('outbox', here) class OnTable extends WithId {}
@Entity('outbox_new', here) class OnView extends WithId {}
@Entity('outbox', here) class TableByKey extends WithKey {}
@Entity('outbox_new', here) class ViewByKey extends WithKey {}
@Entity('outbox', here) class TableWithDefault extends WithId {
  @Column('smallint', { default: 0 }) priority: number;
}
@Entity('outbox_new', here) class ViewWithDefault extends WithKey {
  @Column('smallint', { default: 0 }) priority: number;
}
@Entity('outbox', here) class TableWithCreated extends WithId {
  @CreateDateColumn({ name: 'created_at' }) createdAt: Date;
}
@Entity('outbox_new', here) class ViewWithCreated extends WithKey {
  @CreateDateColumn({ name: 'created_at' }) createdAt: Date;
}
@Entity('outbox_new', here) class ViewWithUpdated extends WithKey {
  @UpdateDateColumn({ name: 'updated_at' }) updatedAt: Date;
}
@Entity('outbox', here) class TableWithTime extends WithKey {
  @Column({ type: time, name: 'available_at' }) availableAt: Date | (() => string);
}

const entities = [OnTable, OnView, TableByKey, ViewByKey, TableWithDefault, ViewWithDefault, TableWithCreated,
  ViewWithCreated, ViewWithUpdated, TableWithTime];
const settings: DataSourceOptions = { type: onPostgres ? 'postgres' : 'mysql', url: process.env.DATABASE_URL, entities };
const source = await new DataSource(settings).initialize();
const { manager } = source;
const row = (key: string, payload: unknown) => ({ channel: 'hooks', target, payload: payload as never, idempotencyKey: key });
const inTenMinutes = () => new Date(Date.now() + 600_000);

await attempt('insert, the table', (key, body) => manager.insert(OnTable, row(key, body)));
await attempt('insert, the view', (key, body) => manager.insert(OnView, row(key, body)));
await attempt('insert, the table, the key as id', (key, body) => manager.insert(TableByKey, row(key, body)));
await attempt('insert, the view, the key as id', (key, body) => manager.insert(ViewByKey, row(key, body)));
await attempt('insert of two', (key, body) => manager.insert(ViewByKey, [row(key, body), row(`${key}-second`, { second: true })]));
await attempt('save, the table', (key, body) => manager.save(OnTable, row(key, body)));
await attempt('save, the view', (key, body) => manager.save(OnView, row(key, body)));
await attempt('save, the table, the key as id', (key, body) => manager.save(TableByKey, row(key, body)));
await attempt('save, the view, the key as id', (key, body) => manager.save(ViewByKey, row(key, body)));
await attempt('save, the table, a column with default', (key, body) => manager.save(TableWithDefault, row(key, body)));
await attempt('save, the view, a column with default', (key, body) => manager.save(ViewWithDefault, row(key, body)));
await attempt('insert, the table, a column with default, updateEntity(false)', (key, body) => manager.createQueryBuilder()
  .insert().into(TableWithDefault).values(row(key, body)).updateEntity(false).execute());
await attempt('save, the table, @CreateDateColumn', (key, body) => manager.save(TableWithCreated, row(key, body)));
await attempt('save, the view, @CreateDateColumn', (key, body) => manager.save(ViewWithCreated, row(key, body)));
await attempt('save, the view, @UpdateDateColumn', (key, body) => manager.save(ViewWithUpdated, row(key, body)));
await attempt('orIgnore, a known key', async (key, body) => {
  const insert = () => manager.createQueryBuilder().insert().into(ViewByKey).values(row(key, body)).orIgnore().execute();
  await insert();
  await insert();
});
await attempt('orIgnore with a wrong priority', (key, body) => manager.createQueryBuilder().insert().into(ViewWithDefault)
  .values({ ...row(key, body), priority: 9 }).orIgnore().execute());
await attempt('upsert', (key, body) => manager.upsert(ViewByKey, row(key, body), ['idempotencyKey']));
await attempt('a known key, caught, and the transaction goes on', (key, body) => source.transaction(async (tx) => {
  await tx.insert(ViewByKey, row(key, body));
  await tx.insert(ViewByKey, row(key, body)).catch(() => {});
  await tx.query(`UPDATE orders SET state = 'paid' WHERE id = 1`);
}));
await attempt('JSON.stringify as the payload', (key, body) => manager.insert(ViewByKey, row(key, JSON.stringify(body))));
await attempt('null as the payload', (key) => manager.insert(ViewByKey, row(key, null)));
await attempt('an array as the payload', async (key, body) => {
  await manager.insert(ViewByKey, row(`${key}-array`, [body]));
  await manager.insert(ViewByKey, row(key, body));
});
await attempt('availableAt: new Date()', (key, body) => manager.insert(TableWithTime, { ...row(key, body), availableAt: new Date() }));
await attempt('availableAt: a Date in 10 minutes', (key, body) => manager.insert(
  TableWithTime, { ...row(key, body), availableAt: inTenMinutes() }), 600);
await attempt('availableAt: now()', (key, body) => manager.insert(TableWithTime, { ...row(key, body), availableAt: () => 'now()' }));
await attempt('query, outbox_enqueue, JSON.stringify, a delay', (key, body) => onPostgres
  ? manager.query(`SELECT outbox_enqueue('hooks', $1, $2, $3, p_delay_seconds => 600)`, [target, JSON.stringify(body), key])
  : manager.query(`CALL outbox_enqueue('hooks', ?, ?, ?, '{"delay_seconds": 600}', @id)`, [target, JSON.stringify(body), key]), 600);
await attempt('query, outbox_enqueue, an object', (key, body) => onPostgres
  ? manager.query(`SELECT outbox_enqueue('hooks', $1, $2, $3)`, [target, body, key])
  : manager.query(`CALL outbox_enqueue('hooks', ?, ?, ?, NULL, @id)`, [target, body, key]));

await source.destroy();
