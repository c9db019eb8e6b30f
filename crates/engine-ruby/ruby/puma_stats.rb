# frozen_string_literal: true

# What `Puma.stats` says, for applications and gems that report it where they find Puma loaded.

module FoolsGold
  # The figures of one worker, by Puma's names and as Puma without workers gives them. What waits is in the server's
  # queue, of which a worker knows nothing.
  class PumaStats
    # Gives them to Puma, if it is loaded.
    def self.offer(worker)
      ::Puma.stats_object = new(worker) if asked?
    end

    # Whether Puma is loaded, and asks an object for its figures.
    def self.asked?
      defined?(::Puma) && ::Puma.respond_to?(:stats_object=)
    end

    # A time as Puma writes it.
    def self.time(moment = Time.now)
      moment.getutc.strftime("%FT%TZ")
    end

    def self.versions
      { puma: ::Puma::Const::PUMA_VERSION,
        ruby: { engine: RUBY_ENGINE, version: RUBY_VERSION, patchlevel: RUBY_PATCHLEVEL } }
    end

    def initialize(worker)
      @worker = worker
      @started_at = PumaStats.time
    end

    def stats
      runners = @worker.runners
      busy = runners.count(&:running)
      { started_at: @started_at, backlog: 0, running: runners.size, pool_capacity: runners.size - busy,
        busy_threads: busy, max_threads: runners.size, requests_count: runners.sum { |runner| runner.slot.seq },
        versions: PumaStats.versions }
    end
  end

  # The workers of the mold, as Puma's cluster lists them, for a thread that a hook or the application starts there.
  # What a worker does is not known here: its `last_status` is empty, as in Puma until a worker has reported.
  class PumaClusterStats
    def initialize(children)
      @children = children
      @started_at = PumaStats.time
    end

    # Gives them to Puma, if it is loaded by now.
    def offer
      ::Puma.stats_object = self if PumaStats.asked?
    end

    def stats
      workers = @children.list.map { |pid, number, forked_at, booted| worker(pid, number, forked_at, booted) }
      { started_at: @started_at, workers: workers.size, phase: 0, booted_workers: workers.count { |one| one[:booted] },
        old_workers: 0, worker_status: workers, versions: PumaStats.versions }
    end

    private

    def worker(pid, number, forked_at, booted)
      { started_at: PumaStats.time(forked_at), pid: pid, index: FoolsGold.indexes[number].to_i, phase: 0,
        booted: booted, last_checkin: PumaStats.time, last_status: {} }
    end
  end
end
