# frozen_string_literal: true

# The hooks, for application code: FoolsGold.after_fork { |worker| ... } and its kin, under any server.
#
# In FoolsGold's own processes these methods are there already, and run the blocks. Under another server the blocks
# are kept, and nobody calls them.

module FoolsGold
  HOOK_NAMES = %i[before_fork after_worker_fork after_fork on_worker_boot on_worker_shutdown on_request_timeout
                  out_of_band].freeze

  # Raised in a request whose time is over; the same class that the server has. Not a StandardError, so that no
  # `rescue => error` takes it for a trouble of its own.
  class RequestTimeout < Exception; end

  unless respond_to?(:hooks)
    @recorded_hooks = Hash.new { |blocks, name| blocks[name] = [] }

    class << self
      # What was registered, by name, where no FoolsGold runs.
      attr_reader :recorded_hooks

      HOOK_NAMES.each do |name|
        define_method(name) do |&block|
          raise ArgumentError, "#{name} needs a block: #{name} { ... }" unless block

          @recorded_hooks[name] << block
        end
      end
    end
  end
end
