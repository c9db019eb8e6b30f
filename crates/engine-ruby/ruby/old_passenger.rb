# frozen_string_literal: true

# `PhusionPassenger`, by which applications and libraries give Passenger hooks of its workers.

module FoolsGold
  # The events of Passenger, and the hooks here at which they happen.
  module PassengerEvents
    HOOKS = { starting_worker_process: :on_worker_boot, credentials: :on_worker_boot,
              after_installing_signal_handlers: :on_worker_boot, stopping_worker_process: :on_worker_shutdown,
              starting_request_handler_thread: :before_thread_start, oob_work: nil }.freeze

    module_function

    def add(name, block)
      hook = HOOKS.fetch(name) { raise ArgumentError, "Unknown event name '#{name}'" }
      return tell_never_called unless hook

      FoolsGold.hooks.add(hook) do
        call = -> { block.call(*arguments(name)) }
        Hooks::AT_BOOT.include?(hook) ? HookFailed.guard(name, block, &call) : call.call
      end
    end

    # What Passenger gives to the blocks of an event.
    def arguments(name)
      case name
      when :starting_worker_process then [FoolsGold.preloads]
      when :credentials then [nil, nil]
      else []
      end
    end

    # Passenger calls these blocks only after answers that ask for it, with a header of its own.
    def tell_never_called
      Log.warn("blocks for PhusionPassenger's event oob_work are never called here: out_of_band in " \
               "config/foolsgold.rb runs between requests, and --oob-gc collects garbage there")
    end
  end
end

module PhusionPassenger
  class << self
    # Passenger's number of requests at once in a worker; here it changes nothing.
    attr_accessor :advertised_concurrency_level

    def on_event(name, &block)
      FoolsGold::PassengerEvents.add(name, block)
    end
  end
end
