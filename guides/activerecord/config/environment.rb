# frozen_string_literal: true

require "active_record"

# What an application of Rails 7 or later has by its `config.load_defaults`: each column is written, not only what was set.
ActiveRecord::Base.partial_inserts = false

postgres = ENV.fetch("GUIDE_SERVER") == "postgres"
ActiveRecord::Base.establish_connection(
  adapter: postgres ? "postgresql" : "mysql2",
  encoding: postgres ? "unicode" : "utf8mb4",
  host: ENV.fetch("DB_HOST"),
  port: ENV.fetch("DB_PORT"),
  database: ENV.fetch("DB_NAME"),
  username: ENV.fetch("DB_USER"),
  password: ENV.fetch("DB_PASSWORD")
)

require_relative "../app/models/order"
require_relative "../app/models/outbox_message"
