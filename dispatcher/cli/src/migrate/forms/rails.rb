# The outbox, from schema version {{from}} to {{to}}, for Rails: db/migrate/{{time}}_outbox{{to}}.rb
#
# In config/initializers/outbox.rb, so that these tables stay out of db/schema.rb, which cannot describe them, and out of
# db/structure.sql:
#
#     ActiveSupport.on_load(:active_record) do
#       ActiveRecord::SchemaDumper.ignore_tables << /\Aoutbox(_|\z)/
#     end
#
# A test database that is made from either has no outbox: run `outbox migrate` on it.
class Outbox{{to}} < ActiveRecord::Migration[6.1]
  def up
{{statements}}
  end

  def down
    raise ActiveRecord::IrreversibleMigration, "The outbox may hold messages that have not been sent."
  end
end
