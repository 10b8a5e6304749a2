-- The outbox, from schema version {{from}} to {{to}}, for Prisma: prisma/migrations/{{time}}_outbox_{{to}}/migration.sql
--
-- In prisma.config.ts, so that `prisma migrate dev` and `db push` leave these tables alone:
--
--     experimental: { externalTables: true },
--     tables: {
--       external: [
--         {{tables}},
--       ],
--     },

{{statements}}
