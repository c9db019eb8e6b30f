# frozen_string_literal: true

# In the server's workers: Rails's log on the console, as `rails server` promises it.

module FoolsGold
  module RailsLog
    module_function

    # Beside wherever it goes already.
    def to_console
      return semantic_to_console if defined?(::RailsSemanticLogger)

      log = ::Rails.logger
      return if ActiveSupport::Logger.logger_outputs_to?(log, $stdout)

      console = ActiveSupport::Logger.new($stdout)
      console.formatter = log.formatter
      console.level = log.level
      # From Rails 7.1 on, a log can be told.
      log.respond_to?(:broadcast_to) ? log.broadcast_to(console) : log.extend(ActiveSupport::Logger.broadcast(console))
    end

    # The same for Rails Semantic Logger. It replaces the method with which Rails::Server does this, which is not in the
    # server's processes, and makes ActiveSupport say of any log that it is on the console.
    def semantic_to_console
      return ::RailsSemanticLogger.add_server_appenders if ::RailsSemanticLogger.respond_to?(:add_server_appenders)

      appenders = ::SemanticLogger.appenders
      return if appenders.respond_to?(:console_output?) && appenders.console_output?

      ::SemanticLogger.add_appender(io: $stdout, formatter: :color)
    end
  end
end
