require_relative "connection"
require "active_support/lazy_load_hooks"

eval(File.read(ENV.fetch("SETTING")))
pool = ActiveRecord::Base.connection_pool
ActiveRecord::SchemaDumper.dump(pool, $stdout)
