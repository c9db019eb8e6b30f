# frozen_string_literal: true

# Early hints (`rack.early_hints`): headers that the client gets before the answer, with status 103.

module FoolsGold
  # The callable under `rack.early_hints`: one per slot.
  class Hints
    MOST = 1000

    def initialize(slot)
      @slot = slot
    end

    def call(headers)
      checked = Headers.new(headers)
      raise ArgumentError, "early hints are a few headers, not #{checked.pairs}" if checked.pairs > MOST
      @slot.send_now(Frames::HINTS, [@slot.seq, checked.pairs, checked.block].pack("Nna*"))
      nil
    end
  end
end
