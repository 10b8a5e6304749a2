const { DB_SERVER, DB_HOST: host, DB_PORT: port, DB_USER: user, DB_NAME: database, MIGRATIONS: directory } = process.env;
const client = DB_SERVER === 'postgres' ? 'pg' : 'mysql2';
const knex = require('knex')({ client, connection: { host, port, user, database } });

knex.migrate.latest({ directory, loadExtensions: ['.cjs'] }).finally(() => knex.destroy());
