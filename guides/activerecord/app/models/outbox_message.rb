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

  # Tries a transaction again that the server rolled back, as MySQL and MariaDB do to end a deadlock over a key.
  def self.again(tries: 3)
    yield
  rescue ActiveRecord::TransactionRollbackError
    (tries -= 1).zero? ? raise : retry
  end

  # False: the key is known, so the message was enqueued before. The transaction goes on.
  def self.enqueue(**message)
    transaction(requires_new: true) { create!(channel: "hooks", **message) }
    true
  rescue ActiveRecord::RecordNotUnique
    false
  end

  # The database counts the seconds of the delay, so no time zone matters.
  def self.enqueue_later(delay, target:, idempotency_key:, payload:)
    message = ["hooks", target, payload.to_json, idempotency_key]
    call = if connection.adapter_name == "PostgreSQL"
      ["SELECT outbox_enqueue(?, ?, ?, ?, p_delay_seconds => ?)", *message, delay.to_f]
    else
      ["CALL outbox_enqueue(?, ?, ?, ?, ?, @id)", *message, { delay_seconds: delay.to_f }.to_json]
    end
    connection.execute(sanitize_sql(call))
  end
end
# docs: end model
