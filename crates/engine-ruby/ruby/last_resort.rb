# frozen_string_literal: true

# Whom the kernel kills when memory is full (proc(5), `oom_score_adj`): a worker before the mold, and the mold before
# the front, whose end would be that of the service. Raising one's own score needs no privilege, and children have that
# of their parent.

module FoolsGold
  module LastResort
    FILE = "/proc/self/oom_score_adj"
    MOLD = 250
    WORKER = 500
    MOST = 1000

    class << self
      # Of a process that the front has started.
      def mold
        @front = File.read(FILE).to_i
        raise_to(@front + MOLD)
      rescue SystemCallError
        nil # No such file, or none that may be written: the kernel chooses as it likes.
      end

      # Of one that serves.
      def worker
        raise_to(@front + WORKER) if @front
      rescue SystemCallError
        nil
      end

      private

      def raise_to(score)
        File.write(FILE, [score, MOST].min.to_s)
      end
    end
  end
end
