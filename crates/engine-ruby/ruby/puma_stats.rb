# frozen_string_literal: true

# What `Puma.stats` says in a worker, for applications and gems that report it where they find Puma loaded.

module FoolsGold
  # The figures of one worker, by Puma's names and as Puma without workers gives them. What waits is in the server's
  # queue, of which a worker knows nothing.
  class PumaStats
    # Gives them to Puma, if it is loaded.
    def self.offer(worker)
      ::Puma.stats_object = new(worker) if defined?(::Puma) && ::Puma.respond_to?(:stats_object=)
    end

    def initialize(worker)
      @worker = worker
      @started_at = Time.now.utc.strftime("%FT%TZ")
    end

    def stats
      runners = @worker.runners
      busy = runners.count(&:running)
      { started_at: @started_at, backlog: 0, running: runners.size, pool_capacity: runners.size - busy,
        busy_threads: busy, max_threads: runners.size, requests_count: runners.sum { |runner| runner.slot.seq },
        versions: { puma: ::Puma::Const::PUMA_VERSION,
                    ruby: { engine: RUBY_ENGINE, version: RUBY_VERSION, patchlevel: RUBY_PATCHLEVEL } } }
    end
  end
end
