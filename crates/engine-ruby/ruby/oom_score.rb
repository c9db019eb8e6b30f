# frozen_string_literal: true

# The order in which the kernel kills processes when memory is full (proc(5), `oom_score_adj`): a worker before the
# mold, and the mold before the front, whose end would end the service. A process that loads the application goes first,
# because others serve. Raising one's own score needs no privilege, nor does lowering it to where it was; children
# inherit it.

module FoolsGold
  module OomScore
    FILE = "/proc/self/oom_score_adj"
    MOLD = 200
    # So far below LOADING that a worker is killed later even if it is large.
    WORKER = 400
    LOADING = 1000
    MOST = 1000

    class << self
      # Sets the score of a process that loads the application.
      def loading
        @front ||= File.binread(FILE).to_i
        set(LOADING)
      rescue SystemCallError
        nil # No such file, or none that may be written: the kernel chooses as it likes.
      end

      # Sets the score of a mold that has loaded it and forks.
      def mold
        set(MOLD)
      end

      # Sets the score of a worker.
      def worker
        set(WORKER)
      end

      private

      def set(score)
        File.binwrite(FILE, [@front + score, MOST].min.to_s) if @front
      rescue SystemCallError
        nil
      end
    end
  end
end
