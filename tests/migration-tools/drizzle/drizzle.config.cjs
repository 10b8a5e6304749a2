const { DB_SERVER, DB_HOST: host, DB_PORT: port, DB_USER: user, DB_NAME: database } = process.env;
const postgres = DB_SERVER === 'postgres';

module.exports = {
  dialect: postgres ? 'postgresql' : 'mysql',
  schema: './schema.cjs',
  out: './migrations',
  dbCredentials: postgres ? { host, port: Number(port), user, password: 'any', database, ssl: false } : { host, port: Number(port), user, database },
};
