# frozen_string_literal: true

# Collects garbage between requests instead of in the middle of one (--oob-gc).

module FoolsGold
  # From Ruby 3.4 on a process can skip major collections and see that one is due. Before, the time for one is
  # estimated.
  module OutOfBand
    # The number of requests after which a collection is due.
    EVERY = 16

    module_function

    # Starts; called once in each worker.
    def start
      if GC.respond_to?(:config) && GC.config.key?(:rgengc_allow_full_mark)
        GC.config(rgengc_allow_full_mark: false)
        @skips_majors = true
        FoolsGold.hooks.add(:out_of_band) { GC.start if due? }
      else
        count = 0
        FoolsGold.hooks.add(:out_of_band) { GC.start if ((count += 1) % EVERY).zero? }
      end
    end

    # Called at each heartbeat. Without a pause between requests no major collection would ever come, and the heap would
    # grow without limit: one that is due at two heartbeats in a row runs now, in the middle of requests.
    def look
      return unless @skips_majors

      is_due = due?
      GC.start if is_due && @was_due
      @was_due = is_due
    end

    # Why a major collection is due; nil if none is.
    def due?
      GC.latest_gc_info(:need_major_by)
    end
  end
end
