require_relative "connection"

ActiveRecord::MigrationContext.new(ENV.fetch("MIGRATIONS")).migrate
