# The application: the parts of Rails that pages over a database need, and the settings of all its environments.

# Before Rails: some of its versions use Logger without loading it.
require "logger"
require "rails"
require "active_record/railtie"
# On JRuby it has another name, and Rails would ask for CRuby's.
require "activerecord-jdbcpostgresql-adapter" if RUBY_ENGINE == "jruby"
require "action_controller/railtie"
require "action_view/railtie"
# With a Gemfile Bundler would load it here: a connection for each fibre, and not one that all fibres of a thread share.
require "falcon/railtie" if defined?(Falcon)

# Posts over PostgreSQL.
module RailsPosts
  # One file for all environments: they differ in two settings only.
  class Application < Rails::Application
    config.load_defaults Rails::VERSION::STRING.to_f
    config.root = File.expand_path("..", __dir__)
    config.eager_load = Rails.env.production?
    config.cache_classes = !Rails.env.development?
    config.consider_all_requests_local = Rails.env.development?
    config.public_file_server.enabled = false
    # A benchmark has nothing to hide; whoever has, sets the variable.
    config.secret_key_base = ENV["SECRET_KEY_BASE"] || "for-benchmarks-only-" * 4
    # Clients may call the server by any name.
    config.hosts.clear

    level = ENV["RAILS_LOG_LEVEL"] || "info"
    levels = %w[debug info warn error fatal]
    raise "RAILS_LOG_LEVEL is #{level.inspect}: give one of #{levels.join(", ")}" unless levels.include?(level)
    config.log_level = level.to_sym
    # Without it, the log is a file in log/, as everywhere in Rails.
    if ENV["RAILS_LOG_TO_STDOUT"].present?
      config.logger = ActiveSupport::TaggedLogging.new(ActiveSupport::Logger.new($stdout))
    end
  end
end
