# frozen_string_literal: true

# `rack.early_hints`: headers that the client gets before the answer, with status 103.

module FoolsGold
  # One for each slot.
  class Hints
    def initialize(slot)
      @slot = slot
    end

    def call(headers)
      checked = Headers.new(headers)
      @slot.send_now(Frames::HINTS, [@slot.seq, checked.pairs, checked.block].pack("Nna*"))
      nil
    end
  end
end
