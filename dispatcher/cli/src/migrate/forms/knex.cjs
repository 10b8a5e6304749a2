// The outbox, from schema version {{from}} to {{to}}, for Knex: migrations/{{time}}_outbox_{{to}}.cjs
//
// Knex touches what its files name, so there is nothing to set.

exports.up = async (knex) => {
  for (const statement of statements) {
    await knex.raw(statement);
  }
};

exports.down = async () => {
  throw new Error('The outbox may hold messages that have not been sent: drop its tables by hand.');
};

const statements = [
{{statements}}
];
