# frozen_string_literal: true

# docs: begin model
class OutboxMessage < ActiveRecord::Base
  # A view that takes messages and shows none: ActiveRecord may read back what it wrote.
  self.table_name = "outbox_new"
  self.primary_key = "idempotency_key"
  # Only what was set is written: the database has defaults for the rest.
  self.partial_inserts = true
  # MariaDB keeps JSON as text.
  attribute :payload, :json
  attribute :headers, :json

  # False: the key is known, so the message was enqueued before. The transaction goes on.
  def self.enqueue(**message)
    transaction(requires_new: true) { create!(channel: "hooks", **message) }
    true
  rescue ActiveRecord::RecordNotUnique
    false
  end
end
# docs: end model
