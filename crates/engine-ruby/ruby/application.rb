# frozen_string_literal: true

# Loads the application: once, before there is any worker, or in each worker.

module FoolsGold
  class << self
    # The application that config.ru returns, once it is loaded.
    attr_accessor :application
    # The number of threads with which a worker begins.
    attr_accessor :threads
    # The number of workers that the server starts with; nil where it is not known.
    attr_accessor :workers
    # Whether the application is loaded before its workers are forked.
    attr_accessor :preloads
  end

  # An application that a proxy serves below a path. As in Puma, the environment variable SCRIPT_NAME names that path,
  # whether or not the proxy has removed it from the path of the request.
  class Mounted
    def initialize(app, name)
      @app = app
      @name = name
    end

    def call(env)
      env["SCRIPT_NAME"] = "#{@name}#{env['SCRIPT_NAME']}"
      @app.call(env)
    end
  end

  # The application, and everything that is needed to load it.
  class Application
    attr_reader :app

    def initialize(setup)
      @setup = setup
      @clients = DatabaseClients.new
    end

    # Variables by which the gem tells the server the address of `rails server`, the folder of a script, and with which
    # process it ends. A server that the application starts would take them for its own.
    OF_GEM = %w[FOOLSGOLD_DEFAULT_HOST FOOLSGOLD_DEFAULT_PORT FOOLSGOLD_APP_FOLDER FOOLSGOLD_ENDS_WITH].freeze

    # Variables that name the default handler of rackup. Where that is this server, they are for the command that starts
    # it: a library that serves an object of its own beside the application, such as its metrics, needs a handler that
    # takes objects.
    OF_RACKUP = %w[RACKUP_HANDLER RACK_HANDLER].freeze
    # The names of this server in these variables.
    HANDLERS = %w[foolsgold fools_gold].freeze

    # Prepares for loading: Bundler first, then Rack, the order in which the user's versions win.
    def prepare
      @began = now
      # Rails sizes its pool of database connections by this. The server ignores a blank value, too.
      ENV["RAILS_MAX_THREADS"] = most_connections if ENV["RAILS_MAX_THREADS"].to_s.b.strip.empty?
      FoolsGold.threads = @setup["threads"].to_i
      FoolsGold.workers = @setup["workers"].to_i unless @setup["workers"].empty?
      FoolsGold.preloads = preload? && Process.respond_to?(:fork)
      set_up_bundler unless @setup["gemfile"].empty?
      %w[compat_file compat_hooks].each { |name| require_relative name } unless @setup["hooks_kind"].empty?
      require_relative "passenger_events" unless @setup["passenger"].empty?
      require "socket"
      # These files need Rack. None of the server's files is loaded later: they may have been removed by then.
      require_relative "descriptors"
      require_relative "owners"
      require_libraries
      require_rack
      # What the file of hooks opens or starts would be shared by all workers as well.
      @descriptors = Descriptors.new
      @threads = Thread.list
      forget_command
      Object.singleton_class.prepend(RestOfUnicorn)
      show_log_of_rails
      return if @setup["hooks"].empty?

      FoolsGold.hooks.load(@setup["hooks"], @setup["hooks_kind"], @setup)
    end

    # Whether the application is loaded before workers are forked. A Ruby that cannot fork is started anew for each
    # worker.
    def preload?
      @setup["preload"] != "no" || !Process.respond_to?(:fork)
    end

    def load
      own = Process.pid
      # The variable as it is before the application can change it.
      name = ENV["SCRIPT_NAME"].to_s
      Progress.watch("#{File.dirname(@setup['rackup'])}/") do
        app = FoolsGold.application = build
        @app = name.empty? ? app : Mounted.new(app, name)
      end
      exit unless Process.pid == own # A child that was forked without a block, and has come to the end of the file.
    end

    def loaded?
      !@app.nil?
    end

    # The names and values of the READY frame.
    def description
      {
        "ruby" => RUBY_DESCRIPTION,
        "rack" => Rack.release,
        "bundler" => @setup["gemfile"].empty? ? "no" : "yes",
        "fork" => Process.respond_to?(:fork) ? "yes" : "no",
        "before_exec" => FoolsGold.hooks.any?(:before_exec) && Process.respond_to?(:fork) ? "yes" : "no",
        "native" => native? ? "yes" : "no",
        "parallel" => RUBY_ENGINE == "ruby" ? "no" : "yes",
        "short_slices" => Slices.short? ? "yes" : "no",
        "preload" => preload? ? "yes" : "no",
        "load_ms" => ((now - @began) * 1000).round.to_s
      }
    end

    # Runs the hooks before a fork, and closes connections to databases, which two processes must not share.
    def before_fork(number)
      @loaded_threads ||= started_threads # Those that a hook starts now belong in this process.
      FoolsGold.hooks.run(:before_fork)
      FoolsGold.hooks.run(:before_worker_fork, number)
      tell_keepers # A hook may be the first to load one.
      @clients.close_databases
    end

    # Descriptions of the connections that workers would share if they were forked now; empty where that is allowed. The
    # first call logs what else they would share, and which threads they would not have.
    def shared_connections
      return [] unless loaded?

      connections, others = opened
      tell(others) unless @has_told
      is_forced = @setup["preload"] == "force"
      connections = after_a_moment(connections) unless is_forced
      words = connections.map { |one| [one.words, Owners.of(one.number)].compact.join(": ") }
      return words unless is_forced

      Log.warn("workers share connections (--preload=force): #{words.join('; ')}") unless words.empty? || @has_told
      []
    ensure
      @has_told = true
    end

    # Gems that look for their own server in this process and do nothing without it, each with the alternative.
    KEEPERS = {
      "PumaWorkerKiller" => "--worker-memory=SIZE replaces workers that grow beyond it, --max-requests=N those that " \
                            "have answered so many requests; `foolsgold recycle`, called by a timer, replaces all, " \
                            "as enable_rolling_restart does",
      "UnicornWrangler" => "--max-requests=N does what its kill_after_requests does, --worker-memory=SIZE what its " \
                           "kill_on_too_much_memory does, --oob-gc what its gc_after_request_time does",
      "Unicorn::WorkerKiller" => "--max-requests=3072 --max-requests-jitter=33 does what its MaxRequests does by " \
                                 "itself, --worker-memory=SIZE what its Oom does",
      "Unicorn::OobGC" => "--oob-gc collects garbage between requests; leave out a GC.disable beside it, which lets " \
                          "memory only grow"
    }.freeze

    # Files of Unicorn that applications require one by one, such as unicorn/oob_gc, expect the rest of it: in its own
    # process everything is loaded.
    module RestOfUnicorn
      OWN_FILE = %r{/unicorn/\w+\.rb\z}.freeze

      # As bytes: the name of a folder need not be valid in the encoding of the locale, and a match would raise then.
      def self.own?(path)
        OWN_FILE.match?(path.to_s.b)
      end

      def const_missing(name)
        # Others have overridden this method, too, so that their frames come first.
        return super unless name == :Unicorn && caller_locations(1, 4).any? { |frame| RestOfUnicorn.own?(frame.path) }

        require "unicorn"
        const_get(name)
      rescue LoadError
        super
      end
    end

    # Logs the alternative for each such gem that is loaded, once.
    def tell_keepers
      STARTS.each { |server, start| warn_of_start(server, *start) }
      @untold ||= KEEPERS.dup
      @untold.delete_if do |name, remedy|
        next unless Object.const_defined?(name)

        Log.warn("#{name} finds no server of its own here and does nothing: #{remedy}")
        true
      rescue NameError
        nil # A part of the name is no module.
      end
    end

    # Methods with which other servers begin to serve in a worker, each with the file that defines it there, and with
    # the hook for what libraries start in it. Unicorn calls its method before it loads the application, unless it
    # preloads.
    STARTS = {
      "Unicorn::HttpServer" => [:worker_loop, RestOfUnicorn::OWN_FILE, "after_fork (for AppSignal: Appsignal.forked)"],
      "Puma::Runner" => [:start_server, %r{/puma/runner\.rb\z}, "before_worker_boot (with `workers 0`: after_booted)"]
    }.freeze

    # Logs, once, that a library has replaced such a method, which is never called here. Agents of monitoring services
    # do so, to start in each worker.
    def warn_of_start(server, method, own_file, remedy)
      warned = (@warned_of ||= [])
      return if warned.include?(server) || !Object.const_defined?(server)
      return if server.start_with?("Unicorn") && !(unicorn? && FoolsGold.preloads)

      file, line = Object.const_get(server).instance_method(method).source_location
      # One in a configuration file of Unicorn is reported with its directives.
      return if file.nil? || (unicorn? && file == @setup["hooks"]) || own_file.match?(file.b)

      Log.warn("#{file}:#{line}: #{server}##{method} is never called here: what it starts in each worker, as agents " \
               "of monitoring services do, belongs in #{remedy}")
      warned << server
    rescue NameError
      nil # It is not loaded, or only a part of it.
    end

    # Number of collections after which an object counts as old.
    UNTIL_OLD = 3

    # Collects garbage of the load, so that workers share the rest for long. Process.warmup of Ruby 3.3 also compacts
    # the heap. On older Rubies nothing does: C extensions of their time that keep unpinned objects would crash then.
    # There, objects that the first collection leaves young age in short ones, which skip the old objects.
    def warm_up
      return Process.warmup if Process.respond_to?(:warmup)

      GC.start
      (UNTIL_OLD - 1).times { GC.start(full_mark: false) }
    end

    # Whether the native worker is loaded, which defines FoolsGold::NativeSlot (see slot.rb).
    def native?
      defined?(FoolsGold::NativeSlot) ? true : false
    end

    private

    # The most threads of a worker that may have a connection to a database each.
    def most_connections
      most = @setup["max_threads"] unless @setup["spares_databases"] == "yes"
      most || @setup["threads"]
    end

    # Whether the hooks are those of a file of Unicorn.
    def unicorn?
      @setup["hooks_kind"] == "unicorn"
    end

    # Removes the variables that are for the command which started the server, and not for the application.
    def forget_command
      OF_GEM.each { |name| ENV.delete(name) }
      OF_RACKUP.each { |name| ENV.delete(name) if HANDLERS.include?(ENV[name].to_s.b.downcase) }
    end

    # `rails server -u foolsgold` names a file of the gem with which Rails's log is on the console too. The gem cannot
    # give a hooks file for that: it would take the place of the user's, and of the hooks in config/puma.rb.
    def show_log_of_rails
      file = ENV.delete("FOOLSGOLD_RAILS_LOG") or return

      FoolsGold.hooks.add(:on_worker_boot) do
        require file
        FoolsGold::RailsLog.to_console
      end
    end

    # What the application holds open, in two lists: connections, and all else. Connections that its libraries can open
    # again are closed first.
    def opened
      found = @descriptors.opened
      if found.any? { |one| one.kind == :connection }
        @clients.close
        found = @descriptors.opened.reject { |one| @clients.in_use.include?(one.number) }
      end
      found.partition { |one| one.kind == :connection }
    end

    # The seconds that threads of the application have to end their connections, and the pause between two looks.
    MOMENT = 1
    LOOK = 0.05
    private_constant :MOMENT, :LOOK

    # Waits for a moment in which no connection is open, and returns those that are still open at the end. A thread of a
    # library that reports or polls opens one now and then, for a single request: if that prevented a fork, preloading
    # would end sooner or later. Without threads of the application there is nothing to wait for; the last of them may
    # just have ended, so one more look is taken.
    def after_a_moment(connections)
      ends = now + MOMENT
      until connections.empty?
        is_last = started_threads.empty? || now > ends
        sleep LOOK unless is_last
        connections, = opened
        break if is_last
      end
      connections
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    def tell(others)
      databases, others = others.partition { |one| one.kind == :database }
      databases.each do |one|
        Log.warn("#{one.words} is open while workers are forked, which SQLite forbids: close it in before_fork and " \
                 "open it in after_fork, or load the application in each worker (--preload=no)")
      end
      shared = others.map(&:words).join(", ")
      Log.debug("workers share with each other what the application has opened: #{shared}") unless others.empty?
      lost_threads.each do |thread|
        Log.warn("a thread that the application started while it was loaded is in no worker: #{describe(thread)}; " \
                 "start it in after_fork, or load the application in each worker (--preload=no)")
      end
    end

    # Threads that the application has started, without that of Ruby's Timeout: it has no connections, and starts anew
    # after a fork.
    def started_threads
      (Thread.list - @threads).reject { |thread| /timeout/i.match?(thread.name.to_s) }
    end

    # Threads that were there before the hooks of the first fork, and that a forked worker would not have. As in Puma,
    # those marked as fork-safe are left out; also idle ones of concurrent-ruby, whose pools notice a fork and start new
    # threads.
    def lost_threads
      threads = @loaded_threads & started_threads
      threads.reject { |thread| thread.thread_variable_get(:fork_safe) || idle_in_pool?(thread) }
    end

    # Whether its whole backtrace is in concurrent-ruby or in Ruby itself.
    def idle_in_pool?(thread)
      lines = thread.backtrace || []
      !lines.empty? && lines.all? { |line| line.include?("/concurrent-ruby/") || line.start_with?("<internal:") }
    end

    def describe(thread)
      "#{thread.name || thread.inspect}, #{thread.backtrace&.first || 'no backtrace'}"
    end

    # Sets up Bundler without `bundler/setup`, which prints and exits where Bundler.setup raises. A LoadError of
    # Bundler.setup does not mean that Bundler is missing: RUBYOPT may have activated another version of a gem than the
    # Gemfile's.
    def set_up_bundler
      begin
        require "bundler"
      rescue LoadError => error
        raise LoadFailed, "there is a Gemfile, but no Bundler: gem install bundler (#{error.message})"
      end
      set_up_gems
    end

    def set_up_gems
      Bundler.setup
    rescue Bundler::GemNotFound, Bundler::GitError => error
      folder = File.dirname(@setup["gemfile"])
      missing = error.message.strip.delete_suffix(".")
      raise LoadFailed, "#{missing}: `bundle install` in #{folder} gets what is missing"
    end

    # Libraries that other servers load before the application (Puma, Unicorn and Thin most of them, Rack 2 the rest),
    # and that applications rely on without a require. One that is a gem in this Ruby, and not in the Gemfile, is
    # skipped.
    LIBRARIES = %w[stringio uri date delegate etc fcntl fileutils forwardable logger set tempfile time timeout
                   tmpdir].freeze

    def require_libraries
      verbose = $VERBOSE
      $VERBOSE = nil # Ruby warns when a library is loaded that is to become a gem.
      LIBRARIES.each do |name|
        require name
      rescue LoadError
        nil
      end
      # Other servers have loaded it by now, for their own options.
      Object.autoload(:OptionParser, "optparse")
    ensure
      $VERBOSE = verbose
    end

    def require_rack
      name_rack if @setup["gemfile"].empty?
      require "rack"
      require "rack/builder"
    rescue LoadError => error
      raise unless error.path.to_s.start_with?("rack")

      remedy = @setup["gemfile"].empty? ? "gem install rack" : "add `gem \"rack\"` to #{@setup['gemfile']}"
      raise NoRack, "#{RUBY_ENGINE} #{RUBY_VERSION} has no Rack: #{remedy}"
    end

    # Has RubyGems find the gem by its name. By the name of a file it would read the specifications of all gems. A Rack
    # that is in the load path, as with `-I`, comes first in either case.
    def name_rack
      return unless respond_to?(:gem, true)

      gem "rack" unless $LOAD_PATH.any? { |folder| File.file?(File.join(folder, "rack.rb")) }
    rescue LoadError
      nil # There is none, or it cannot be activated: `require` says more.
    end

    # Loads config.ru. Rack 2 returns the application and options, Rack 3 the application.
    def build
      app, = Rack::Builder.parse_file(@setup["rackup"], *no_options)
      return app if app.respond_to?(:call)

      raise LoadFailed, "#{@setup['rackup']} gives #{app.class}, which has no method `call`"
    end

    # The arguments with which Rack 2 does not look for options in the comments of the file. To read them it loads its
    # own server, and OptionParser, which is only done for a file that has any.
    def no_options
      reads_options = Rack::Builder.method(:parse_file).parameters.include?(%i[opt opts])
      reads_options && !File.binread(@setup["rackup"]).match?(/^#\\/) ? [nil] : []
    end
  end
end
