# frozen_string_literal: true

# The heaps of malloc, whose number the server limits in the Ruby processes that it starts (heaps.rs).

module FoolsGold
  module Heaps
    # Removes the variables of that limit: they have had their effect, and are not for programs that the application or
    # its configuration starts. A value that somebody else has set stays.
    def self.forget_limit
      own = ENV.delete("FOOLS_GOLD_ARENAS")
      ENV.delete("MALLOC_ARENA_MAX") if own && ENV["MALLOC_ARENA_MAX"] == own
    end
  end
end
