# frozen_string_literal: true

# What `Puma.stats` and `Puma::Server.current` say, for applications and gems that ask where they find Puma loaded.

module FoolsGold
  # The figures of one worker, by Puma's names and as Puma without workers gives them. What waits is in the server's
  # queue, of which a worker knows nothing.
  class PumaStats
    # The names of the figures of a worker.
    FIGURES = %i[backlog running pool_capacity busy_threads max_threads requests_count].freeze
    # Further figures of Puma 8, of parts that this server does not have.
    OTHERS = { io_threads: 0, backlog_max: 0, reactor_max: 0 }.freeze

    # Gives them to Puma, if it is loaded.
    def self.offer(worker)
      ::Puma.stats_object = new(worker) if asked?
    end

    # Makes an object with the figures the value of `Puma::Server.current` in this thread, as in a thread of Puma. Older
    # versions of Puma look under a key of the thread, newer ones in an attribute, which they define when they load
    # their server.
    def self.show(worker)
      return unless defined?(::Puma)

      thread = Thread.current
      thread[:puma_server] = stats = new(worker)
      thread.instance_variable_set(:@puma_server, stats)
    end

    # Whether Puma is loaded, and asks an object for its figures.
    def self.asked?
      defined?(::Puma) && ::Puma.respond_to?(:stats_object=)
    end

    # A time as Puma writes it.
    def self.time(moment = Time.now)
      moment.getutc.strftime("%FT%TZ")
    end

    # Figures of a worker, in the order of FIGURES, with their names, and with the further ones.
    def self.named(figures)
      FIGURES.zip(figures).to_h.merge(OTHERS)
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
      { started_at: @started_at, **PumaStats.named(figures), versions: PumaStats.versions }
    end

    # The figures, in the order of FIGURES.
    def figures
      runners = @worker.runners
      busy = runners.count(&:running)
      [0, runners.size, runners.size - busy, busy, runners.size, runners.sum { |runner| runner.slot.seq }]
    end

    FIGURES.each_with_index { |name, place| define_method(name) { figures[place] } }
    alias_method :min_threads, :max_threads

    # Whether this worker finishes its last requests. Code of endless responses asks `Puma::Server.current` for it.
    def shutting_down?
      @worker.ending?
    end
  end

  # The workers of the mold, as Puma's cluster lists them, for a thread that a hook or the application starts there.
  # Workers report when they have booted and at each heartbeat, every few seconds; until then `last_status` is empty, as
  # in Puma.
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
      workers = @children.list.map { |pid, number, forked_at, report| worker(pid, number, forked_at, report) }
      { started_at: @started_at, workers: workers.size, phase: 0, booted_workers: workers.count { |one| one[:booted] },
        old_workers: 0, worker_status: workers, versions: PumaStats.versions }
    end

    private

    def worker(pid, number, forked_at, report)
      { started_at: PumaStats.time(forked_at), pid: pid, index: FoolsGold.indexes[number].to_i, phase: 0,
        booted: !report.nil?, last_checkin: PumaStats.time(report ? report.time : forked_at),
        last_status: report ? PumaStats.named(report.figures) : {} }
    end
  end
end
