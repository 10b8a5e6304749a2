# frozen_string_literal: true

# Runs variants of natural code, and tells of each whether it was accepted.

require "json"
require_relative "../config/environment"

SERVER = ENV.fetch("GUIDE_SERVER")
HOOK = ENV.fetch("TARGET")

# As `rails generate model` leaves it: all columns of the table.
class GeneratedMessage < ActiveRecord::Base
  self.table_name = "outbox"
end

class PartialMessage < GeneratedMessage
  self.partial_inserts = true
end

class JsonMessage < PartialMessage
  attribute :payload, :json
  self.record_timestamps = false
end

class KeyedMessage < JsonMessage
  self.primary_key = "idempotency_key"
end

# A model of its own columns, all of which it writes.
class NarrowMessage < ActiveRecord::Base
  self.table_name = "outbox"
  self.primary_key = "idempotency_key"
  self.ignored_columns += %w[
    id headers destination payload_bytes ordering_key priority shard revision status dead_reason attempts max_attempts
    available_at deferred_from expires_at first_attempt_at last_status_code last_error error_hash traceparent tracestate
    created_at finished_at dead_at fingerprint
  ]
  attribute :payload, :json
end

class NewMessage < ActiveRecord::Base
  self.table_name = "outbox_new"
end

class PlainMessage < ActiveRecord::Base
  self.table_name = "outbox_new"
  self.primary_key = "idempotency_key"
  self.partial_inserts = true
end

class NumberedNewMessage < OutboxMessage
  self.primary_key = "id"
end

$variants = 0

def variant(name, delay: nil)
  $variants += 1
  key = "try-#{$variants}"
  body = { n: $variants, customer: "Jürgen 李 🎉" }
  told = { stack: "ActiveRecord #{ActiveRecord.version.segments.first(2).join('.')}", try: name, key: key }
  begin
    ActiveRecord::Base.transaction do
      Order.create!(id: 100 + $variants, customer: "Ada")
      yield({ idempotency_key: key, channel: "hooks", target: HOOK, payload: body })
    end
    told.merge!({ body: body, delay: delay }.compact)
  rescue StandardError => refusal
    told[:refused] = refusal.message.lines.first(2).join(" ")[0, 200]
  end
  puts told.to_json
end

def json(message)
  message.merge(payload: message[:payload].to_json)
end

variant("create!, model as generated") { |message| GeneratedMessage.create!(message) }
variant("create!, partial_inserts = true") { |message| PartialMessage.create!(message) }
variant("create!, record_timestamps = false too") { |message| JsonMessage.create!(message) }
variant("create!, key as primary key") { |message| KeyedMessage.create!(message) }
variant("create!, ignored_columns") { |message| NarrowMessage.create!(message) }
variant("create! on outbox_new, as generated") { |message| NewMessage.create!(message) }
variant("create! on outbox_new, id as primary key") { |message| NumberedNewMessage.create!(message) }
variant("create! on outbox_new, the model of this guide") { |message| OutboxMessage.create!(message) }
variant("new, save!") { |message| OutboxMessage.new(message).save! }
variant("create!, then reload") { |message| OutboxMessage.create!(message).reload }
variant("create! of two") { |message| OutboxMessage.create!([message, { **message, idempotency_key: "#{message[:idempotency_key]}-second" }]) }
variant("create! with status: 'SUCCESS'") { |message| JsonMessage.create!(**message, status: "SUCCESS") }
variant("insert") { |message| JsonMessage.insert(message) }
variant("insert!") { |message| JsonMessage.insert!(message) }
variant("insert! on outbox_new") { |message| OutboxMessage.insert!(message) }
variant("insert_all, unique_by: :idempotency_key") { |message| JsonMessage.insert_all([message], unique_by: :idempotency_key) }
variant("insert_all on outbox_new") { |message| OutboxMessage.insert_all([message]) }
variant("insert_all!, returning: %w[id]") { |message| JsonMessage.insert_all!([message], returning: %w[id]) }
variant("upsert") { |message| JsonMessage.upsert(message) }
variant("find_or_create_by!") { |message| OutboxMessage.find_or_create_by!(message) }
variant("create_or_find_by!") { |message| OutboxMessage.create_or_find_by!(message) }
variant("a duplicate, RecordNotUnique rescued") do |message|
  OutboxMessage.create!(message)
  begin
    OutboxMessage.create!(message)
  rescue ActiveRecord::RecordNotUnique
    Order.count
  end
end
variant("a duplicate, rescued around requires_new") do |message|
  2.times { OutboxMessage.enqueue(**message.except(:channel)) }
  Order.count
end
variant("to_json beside attribute :json") { |message| OutboxMessage.create!(json(message)) }
variant("a Hash without attribute :json") { |message| PlainMessage.create!(message) }
variant("execute, to_json quoted") do |message|
  connection = ActiveRecord::Base.connection
  values = json(message).values_at(:channel, :target, :payload, :idempotency_key).map { |value| connection.quote(value) }
  connection.execute("INSERT INTO outbox (channel, target, payload, idempotency_key) VALUES (#{values.join(', ')})")
end

def raw_insert(message, time)
  ActiveRecord::Base.connection.execute(ActiveRecord::Base.sanitize_sql([
    "INSERT INTO outbox (channel, target, payload, idempotency_key, available_at)
     VALUES (:channel, :target, :payload, :idempotency_key, #{time})", json(message)
  ]))
end

variant("available_at: 10.minutes.from_now", delay: 600) { |message| OutboxMessage.create!(**message, available_at: 10.minutes.from_now) }
variant("available_at: Time.now + 600", delay: 600) { |message| OutboxMessage.create!(**message, available_at: Time.now + 600) }
variant("available_at: (Time.now + 600).to_fs(:db)", delay: 600) do |message|
  OutboxMessage.create!(**message, available_at: (Time.now + 600).to_fs(:db))
end
variant("insert!, available_at: 10.minutes.from_now", delay: 600) do |message|
  OutboxMessage.insert!({ **message, available_at: 10.minutes.from_now })
end
variant("now() + 10 minutes, in SQL", delay: 600) do |message|
  raw_insert(message, SERVER == "postgres" ? "now() + interval '10 minutes'" : "NOW() + INTERVAL 10 MINUTE")
end
variant("outbox_enqueue, 600 seconds", delay: 600) do |message|
  call = if SERVER == "postgres"
           "SELECT outbox_enqueue(:channel, :target, :payload, :idempotency_key, p_delay_seconds => 600)"
         else
           "CALL outbox_enqueue(:channel, :target, :payload, :idempotency_key, '{\"delay_seconds\": 600}', @id)"
         end
  ActiveRecord::Base.connection.execute(ActiveRecord::Base.sanitize_sql([call, json(message)]))
end

# As `config.active_record.default_timezone = :local` says it.
ActiveRecord.default_timezone = :local
ActiveRecord::Base.connection_handler.clear_all_connections!
variant("default_timezone = :local, 10.minutes.from_now", delay: 600) do |message|
  OutboxMessage.create!(**message, available_at: 10.minutes.from_now)
end
variant("default_timezone = :local, created by the table's model") { |message| JsonMessage.create!(message) }
