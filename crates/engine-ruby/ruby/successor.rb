# frozen_string_literal: true

# The order to a process that has evaluated a configuration to continue as the mold, with everything that a mold is
# started with.

module FoolsGold
  @evaluated = {}

  class << self
    # The file that was evaluated in this process, by its path as in SETUP: it is not evaluated again.
    attr_reader :evaluated
  end

  # Records where the code of a configuration redirects standard output and standard error to (`reopen`). While that
  # code runs, both lead to standard error; a stream that it has not redirected leads to the server's one afterwards.
  class Redirects
    # The directives of Puma and Unicorn that redirect a stream once the code has run.
    DIRECTIVES = { STDOUT => %w[stdout_path stdout_redirect], STDERR => %w[stderr_path stdout_redirect] }.freeze

    def initialize
      # For each stream, the one of the server that it is to lead to; nil if the code has redirected it elsewhere.
      @sources = { STDOUT => STDOUT, STDERR => STDERR }
      @first = file(STDERR)
      redirects = self
      @noted = Module.new do
        define_method(:reopen) do |target, *mode, **options|
          super(target, *mode, **options)
          redirects.note(self, target)
          self
        end
      end
      DIRECTIVES.each_key { |stream| stream.extend(@noted) }
    end

    def note(stream, target)
      # Code that silences a stream for a while returns to a duplicate of what it was.
      is_first = target.respond_to?(:to_io) && file(stream) == @first
      @sources[stream] = @sources.fetch(target) { stream if is_first }
    end

    # Reopens what is to lead to a stream of the server; `said` has the directives of the configuration.
    def finish(stdout, stderr, said)
      @noted.send(:remove_method, :reopen)
      given = { STDOUT => stdout, STDERR => stderr }
      DIRECTIVES.each do |stream, names|
        source = names.any? { |name| said.args(name) } ? stream : @sources[stream]
        stream.reopen(given[source]) if source
      end
    end

    private

    def file(stream)
      stat = stream.stat
      [stat.dev, stat.ino]
    end
  end

  class Successor
    # Files of this script that the mold loads too.
    SHARED = %w[heaps directives puma_options compat_words compat_file].freeze
    # The system call prctl(2), by machine. PR_SET_DUMPABLE keeps `/proc` of a process that has changed its user
    # readable: else only root could see which memory it shares.
    PRCTL = { "x86_64" => 157, "aarch64" => 167 }[RUBY_PLATFORM[/\A[^-]+/]]
    GET_DUMPABLE = 3
    SET_DUMPABLE = 4

    def self.changes_user?
      Process.uid.zero? && !PRCTL.nil? && prctl(GET_DUMPABLE, 0) == 1
    rescue NotImplementedError, SystemCallError
      false
    end

    def self.prctl(what, value)
      Kernel.syscall(PRCTL, what, value, 0, 0, 0)
    end

    # `umask` is that of this process before it evaluated the configuration.
    def initialize(streams, order, umask, redirects)
      @streams = streams
      @order = order
      @umask = umask
      @redirects = redirects
    end

    def begin(file)
      trap("TERM", "DEFAULT")
      stdin, *outputs = @streams
      STDIN.reopen(stdin)
      @redirects.finish(*outputs, file._said)
      @streams.each(&:close)
      move
      change_user unless @order["uid"].to_s.empty?
      @order.each { |name, value| ENV[name.delete_prefix("env:")] = value if name.start_with?("env:") }
      FoolsGold.evaluated[@order["file"]] = file
      mold = @order["mold"]
      SHARED.each { |name| $LOADED_FEATURES << File.join(File.realpath(File.dirname(mold)), "#{name}.rb") }
      $PROGRAM_NAME = mold
      load mold
    end

    private

    def move
      Dir.chdir(@order["folder"])
      # A umask that the configuration has set stays that of the application.
      File.umask(@order["umask"].to_i) if File.umask == @umask
    end

    def change_user
      Process.groups = @order["groups"].split(",").map(&:to_i)
      Process::GID.change_privilege(@order["gid"].to_i)
      Process::UID.change_privilege(@order["uid"].to_i)
      Successor.prctl(SET_DUMPABLE, 1)
    end
  end
end
