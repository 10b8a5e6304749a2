-- The outbox, from schema version {{from}} to {{to}}, for drizzle-kit, which names its files itself:
--   npx drizzle-kit generate --custom --name outbox_{{to}}
-- makes drizzle/NNNN_outbox_{{to}}.sql. This text goes into it.
--> statement-breakpoint
{{statements}}
