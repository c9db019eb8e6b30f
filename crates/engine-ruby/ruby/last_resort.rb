# frozen_string_literal: true

# Whom the kernel kills when memory is full (proc(5), `oom_score_adj`): a worker before the mold, and the mold before
# the front, whose end would be that of the service. First of all goes what loads the application: others serve, or
# would have to die for it. Raising one's own score needs no privilege, nor does lowering it to where it was, and
# children have that of their parent.

module FoolsGold
  module LastResort
    FILE = "/proc/self/oom_score_adj"
    MOLD = 200
    # So far from LOADING that a worker goes later even if it is large.
    WORKER = 400
    LOADING = 1000
    MOST = 1000

    class << self
      # Of a process that the front has started, and that loads the application.
      def loading
        @front ||= File.read(FILE).to_i
        set(LOADING)
      rescue SystemCallError
        nil # No such file, or none that may be written: the kernel chooses as it likes.
      end

      # Of one that has loaded it and forks.
      def mold
        set(MOLD)
      end

      # Of one that serves.
      def worker
        set(WORKER)
      end

      private

      def set(score)
        File.write(FILE, [@front + score, MOST].min.to_s) if @front
      rescue SystemCallError
        nil
      end
    end
  end
end
