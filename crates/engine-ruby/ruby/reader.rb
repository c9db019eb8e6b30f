# frozen_string_literal: true

# Evaluates another server's configuration and reports its directives. Then it waits: if the application is served with
# this file, the process continues as the mold, so that the code of the file runs once. Its standard input is a socket
# to the server, which carries one line up and at most one order down (reader.rs).

module FoolsGold
  class Reader
    # Libraries of Ruby that all these servers load before they read their configuration.
    LIBRARIES = %w[etc socket tmpdir logger uri stringio time tempfile].freeze
    # Variables with the environment of the application.
    ENVIRONMENTS = %w[RACK_ENV RAILS_ENV APP_ENV].freeze

    # `texts` are those of CompatFile.from_texts.
    def initialize(path, kind, gemfile, texts)
      @path = path
      @kind = kind
      @gemfile = gemfile
      @texts = texts
      @umask = File.umask
      # Programs that the file starts must not get the socket, and what they print goes to standard error.
      @server = IO.for_fd(0, "r+b", autoclose: false).dup
      $stdin.reopen(File::NULL)
      $stdout.reopen($stderr)
      $stdout.sync = $stderr.sync = true
      @redirects = Redirects.new
    end

    # Evaluates the file. Returns the order to become a mold, with the file, if there is one.
    def run(stays)
      Heaps.forget_limit
      title
      write_in_background
      set_up_bundler
      LIBRARIES.each { |name| load_usual(name) }
      watcher = watch
      record = @kind == "thin" ? ThinFile.new(@path).read : evaluate
      watcher&.kill&.join
      stays &&= record["error"].nil? && Process.respond_to?(:fork) && defined?(UNIXSocket)
      tell(record, stays)
      order = await_order if stays
      # No at_exit block and no thread of the configuration may run in a process that only evaluates.
      order ? [order, @file] : exit!(0)
    end

    private

    # Sets `$0`, which files read, and which `ps` shows for processes that the file forks too.
    def title
      $PROGRAM_NAME = @kind
      Process.setproctitle("foolsgold: reads #{@path}")
    rescue NotImplementedError
      nil
    end

    # Ignores SIGTTOU at a terminal, which after `stty tostop` stops a background process that prints. Programs that the
    # file starts inherit this.
    def write_in_background
      trap("TTOU", "IGNORE") if $stderr.tty?
    rescue ArgumentError
      nil # A Java machine has some signals for itself.
    end

    # Ends this process when the server has exited, since the file may never finish. The server sends nothing before it
    # has the result, so its socket can be read only when the server has closed it.
    def watch
      return unless RUBY_ENGINE == "ruby"

      Thread.new do
        IO.select([@server])
        exit!(0)
      end
    end

    # Sets up the gems of the application, as in the other server; without them the file can still be evaluated.
    def set_up_bundler
      return if @gemfile.empty?

      require "bundler"
      Bundler.setup
      @has_bundler = true
    rescue LoadError, StandardError => error
      warn "the gems of #{@gemfile} are not there: #{error.message.split("\n").first}"
    end

    def load_usual(name)
      verbose = $VERBOSE
      $VERBOSE = nil # Ruby warns when a library is loaded that is to become a gem.
      require name
    rescue LoadError
      nil # A configuration that needs it says so itself.
    ensure
      $VERBOSE = verbose
    end

    def evaluate
      ENV["RACK_ENV"] ||= "development" if %w[unicorn pitchfork].include?(@kind)
      before = ENVIRONMENTS.to_h { |name| [name, ENV[name]] }
      @file = CompatFile.from_texts(@path, @kind, *@texts)
      begin
        @file._evaluate
      rescue Exception => error # `exit` and a syntax error are no more of a configuration than any other.
        failure = describe(error).merge(refused(error))
      end
      changed = ENVIRONMENTS.find { |name| ENV[name] && ENV[name] != before[name] }
      { "calls" => @file._said.calls.map { |call| plain_call(call) }, "error" => failure,
        "environment" => changed && [changed, PlainText.utf8(ENV[changed])] }
    end

    def plain_call(call)
      { "name" => call.is_added ? "Puma::DSL" : PlainText.utf8(call.name), "line" => call.line, "file" => call.file,
        "args" => call.args.map { |one| PlainText.plain(one) }, "written" => PlainText.utf8(call.written) }
    end

    # The directive at which the evaluation ended, if the server does not have it.
    def refused(error)
      refusal = @file._said.refusal
      refusal&.error.equal?(error) ? { "call" => plain_call(refusal.call) } : {}
    end

    def describe(error)
      frames = error.backtrace_locations || []
      line = frames.find { |frame| frame.path == @path }&.lineno
      # As bytes: the name of a folder need not be valid in the encoding of the locale, and a match would raise then.
      message = error.message.b
      # The message of a syntax error begins with its place.
      place = "#{@path.b}:"
      line ||= message.delete_prefix(place).to_i if error.is_a?(ScriptError) && message.start_with?(place)
      # Behind an empty line Ruby shows the code that raised it (error_highlight): not that of this program.
      message = message.split("\n\n").first.to_s if error.is_a?(NameError) && frames.first&.path == "-e"
      { "class" => error.class.name, "message" => PlainText.utf8(message), "line" => line }
    end

    # Reports the result in one line. Its end marks the end of the result, since a process that the configuration has
    # started may hold the socket open.
    def tell(record, stays)
      record = record.merge("bundler" => @has_bundler ? @gemfile : "", "stays" => stays ? true : false,
                            "changes_user" => Successor.changes_user?)
      @server.write(PlainText.json(record), "\n")
      @server.flush
    end

    # Waits for the server to decide whether this process becomes a mold. Signals are the server's business until then.
    def await_order
      # Handlers, and not "IGNORE", which programs that this process starts later would inherit.
      %w[INT HUP QUIT TERM].each { |name| trap(name) { nil } }
      @server.autoclose = false # Two objects for one descriptor: the other closes it.
      socket = UNIXSocket.for_fd(@server.fileno)
      streams = Array.new(3) { socket.recv_io }
      # File names are bytes: in the locale C they need not be valid in its encoding.
      order = socket.read.b.split("\0", -1).map { |word| word.force_encoding(Encoding.default_external) }
      socket.close
      order.empty? ? nil : Successor.new(streams, order.each_slice(2).to_h, @umask, @redirects)
    rescue IOError, SocketError, SystemCallError
      nil # The server has dropped this file.
    end
  end
end

if $PROGRAM_NAME == "-e"
  path, kind, gemfile, *texts, stays = ARGV.slice!(0..)
  successor, file = FoolsGold::Reader.new(path, kind, gemfile, texts).run(stays == "stays")
  successor.begin(file)
end
