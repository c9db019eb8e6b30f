# frozen_string_literal: true

# Early hints (`rack.early_hints`): headers that the client gets before the answer, with status 103.

module FoolsGold
  # The callable under `rack.early_hints`: one per request. After its answer, and in a process that the application has
  # forked, it does nothing.
  class Hints
    MOST = 1000

    # The headers of hints. Those that no answer may have are left out, here and by the front: hints are optional.
    class Checked < Headers
      private

      def take(name, value)
        super
      rescue BadAnswer
        nil
      end
    end
    private_constant :Checked

    def initialize(slot, seq)
      @slot = slot
      @seq = seq
    end

    def call(headers)
      checked = Checked.new(headers)
      raise ArgumentError, "early hints are a few headers, not #{checked.pairs}" if checked.pairs > MOST
      size = checked.block.bytesize
      raise ArgumentError, "early hints have #{size} bytes, more than #{Channel::WHOLE}" if size > Channel::WHOLE
      return if checked.pairs.zero? || @seq != @slot.seq || !@slot.own_process?

      @slot.send_now(Frames::HINTS, [@seq, checked.pairs, checked.block].pack("Nna*"))
      nil
    end
  end
end
