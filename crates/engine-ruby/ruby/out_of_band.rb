# frozen_string_literal: true

# Garbage is collected between requests instead of in the middle of one (--oob-gc).

module FoolsGold
  # Since Ruby 3.4 a process can leave major collections out and say that one is due. Before, it can only be guessed.
  module OutOfBand
    # So many requests, and one is due.
    EVERY = 16

    module_function

    # To be called once in each worker.
    def start
      if GC.respond_to?(:config) && GC.config.key?(:rgengc_allow_full_mark)
        GC.config(rgengc_allow_full_mark: false)
        FoolsGold.hooks.add(:out_of_band) { GC.start if GC.latest_gc_info(:need_major_by) }
      else
        count = 0
        FoolsGold.hooks.add(:out_of_band) { GC.start if ((count += 1) % EVERY).zero? }
      end
    end
  end
end
