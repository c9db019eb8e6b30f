# frozen_string_literal: true

# In the server's workers: Rails's log on the console, as `rails server` promises it.

module FoolsGold
  module RailsLog
    module_function

    # Beside wherever it goes already.
    def to_console
      log = ::Rails.logger
      return if ActiveSupport::Logger.logger_outputs_to?(log, $stdout)

      console = ActiveSupport::Logger.new($stdout)
      console.formatter = log.formatter
      console.level = log.level
      # From Rails 7.1 on, a log can be told.
      log.respond_to?(:broadcast_to) ? log.broadcast_to(console) : log.extend(ActiveSupport::Logger.broadcast(console))
    end
  end
end
