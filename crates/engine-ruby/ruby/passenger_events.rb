# frozen_string_literal: true

# The module `PhusionPassenger`, with which applications and libraries register hooks for Passenger's workers.

module FoolsGold
  # Registers blocks for events of Passenger as hooks.
  module PassengerEvents
    # The hook for each event; nil for an event that never happens here.
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

    # The arguments that Passenger passes to the blocks of an event.
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
    # The number of concurrent requests of a worker, as the application sets it for Passenger. It has no effect here.
    attr_accessor :advertised_concurrency_level

    def on_event(name, &block)
      FoolsGold::PassengerEvents.add(name, block)
    end
  end
end
