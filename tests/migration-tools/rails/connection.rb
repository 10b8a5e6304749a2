require "active_record"

postgres = ENV.fetch("DB_SERVER") == "postgres"
ActiveRecord::Base.establish_connection(
  adapter: postgres ? "postgresql" : "mysql2", encoding: postgres ? "unicode" : "utf8mb4", host: ENV.fetch("DB_HOST"),
  port: ENV.fetch("DB_PORT"), database: ENV.fetch("DB_NAME"), username: ENV.fetch("DB_USER")
)
