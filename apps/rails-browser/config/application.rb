# The application: the parts of Rails that the pages need, and the settings of all its environments.

# Before Rails: some of its versions use Logger without loading it.
require "logger"
require "securerandom"
require "rails"
require "active_record/railtie"
require "active_storage/engine"
require "action_controller/railtie"
require "action_view/railtie"
require "action_cable/engine"

# Pages for browsers to be clicked through.
module RailsBrowser
  # One file for all environments. What outlives a release (database, uploads) is in SHARED_DIR.
  class Application < Rails::Application
    config.load_defaults Rails::VERSION::STRING.to_f
    config.root = File.expand_path("..", __dir__)
    config.enable_reloading = Rails.env.development?
    config.eager_load = Rails.env.production?
    config.consider_all_requests_local = Rails.env.development?
    config.public_file_server.enabled = true
    config.active_record.migration_error = false
    config.active_storage.service = :disk
    # The service of this application measures and resizes nothing.
    config.active_storage.analyzers = []
    config.active_storage.previewers = []
    config.active_job.queue_adapter = :inline
    config.secret_key_base = ENV["SECRET_KEY_BASE"] || "for-tests-only-" * 5
    # Clients may call the server by any name.
    config.hosts.clear
    config.middleware.use Rack::Deflater, if: ->(env, *) { env["PATH_INFO"].start_with?("/deflated") }

    # Without it, the log is a file in log/, as everywhere in Rails.
    if ENV["RAILS_LOG_TO_STDOUT"].present?
      config.logger = ActiveSupport::TaggedLogging.new(ActiveSupport::Logger.new($stdout))
    end

    # The folder beside releases, or this one.
    def self.shared = Pathname.new(ENV["SHARED_DIR"].presence || File.expand_path("..", __dir__))

    # What this release calls itself: as Capistrano does, in a file.
    VERSION = File.read(File.expand_path("../REVISION", __dir__)).strip.freeze

    # Which load of it this is.
    LOAD = SecureRandom.hex(4).freeze
  end
end
