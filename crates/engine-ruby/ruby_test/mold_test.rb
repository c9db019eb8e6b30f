# frozen_string_literal: true

# The mold loads the application, forks workers, runs hooks and exits.

%w[limits progress children].each { |name| require_relative "../ruby/#{name}" }

HOOKS = <<~RUBY
  $order = []
  before_fork { $order << :before }
  after_worker_fork { |worker| $order << [:forked, worker] }
  after_fork { |worker| $order << [:after, worker] }
  on_worker_boot { |worker| $order << [:boot, worker] }
  on_worker_shutdown { |worker| File.write(File.join(__dir__, "shutdown"), worker.to_s) }
RUBY

ORDER = <<~RUBY
  FoolsGold.on_worker_boot { |worker| $order << [:app, worker] }
  at_exit { File.write(File.join(__dir__, "at_exit-\#{Process.pid}"), "") }
  run(lambda do |env|
    secrets = ENV.keys.grep(/FOOLS/)
    [200, {}, [env["PATH_INFO"] == "/random" ? rand.to_s : $order.inspect + secrets.inspect]]
  end)
RUBY

module MoldTest
  H = Harness

  def self.answering(name, body, rackup, **options)
    H.check(name) do
      Front.run(rackup, **options) { |front| H.same(body, front.fork.get("/").body) }
    end
  end

  # A mold whose application holds a connection.
  def self.holding(hooks, **options, &block)
    rackup = "$held = TCPSocket.new('127.0.0.1', PORT)\nrun ->(_) { [200, {}, [$held.closed?.to_s]] }"
    Front.with_listener(rackup, hooks: hooks, **options, &block)
  end

  # Yields a variable with which Ruby finds this text as the library of this name.
  def self.with_library(name, text)
    Dir.mktmpdir do |folder|
      File.write(File.join(folder, "#{name}.rb"), text)
      yield({ "RUBYLIB" => [folder, *ENV["RUBYLIB"]].join(File::PATH_SEPARATOR) })
    end
  end
end

Front.run(ORDER, hooks: HOOKS) do |front|
  worker = front.fork
  Harness.check("READY tells of the Ruby") { Harness.match(/ruby\0.*rack\0\d.*fork\0/m, front.ready.last) }
  Harness.check("hooks run in order, secrets are gone") do
    before = ":before, " if front.ready.last.include?("fork\0yes")
    Harness.same("[#{before}[:after, 1], [:boot, 1], [:app, 1]][]", worker.get("/").body)
  end
  if front.ready.last.include?("fork\0yes")
    Harness.check("workers have different random numbers") do
      Harness.same(false, front.fork(2).get("/random").body == worker.get("/random").body)
    end
    Harness.check("after_worker_fork runs in the mold, after each fork") do
      Harness.match(/\A\[:before, \[:forked, 1\], :before, \[:forked, 2\], :before, /, front.fork(5).get("/").body)
    end
    Harness.check("STOP ends a worker gracefully") do
      worker.order(Front::F::STOP)
      _, payload = front.await(front.mold, Front::F::EXITED)
      Harness.same([1, worker.pid, 0], payload.unpack("NNl>"))
      Harness.same("1", File.read(File.join(front.folder, "shutdown")))
      Harness.same(true, File.exist?(File.join(front.folder, "at_exit-#{worker.pid}")))
    end
    Harness.check("TERM, which may go to all processes at once, does nothing to a worker") do
      worker = front.fork(4)
      3.times { |seq| worker.ask("/", seq: seq) }
      Process.kill("TERM", worker.pid)
      Harness.same([0, 1, 2], Array.new(3) { worker.answer.seq })
    end
  end
end
Harness.check("a refused process is told with the limit that is reached: of processes, or of memory") do
  explain = lambda { |error| FoolsGold::Limits.explain(error.new("fork(2)")) }
  Harness.match(/fork.2.: a limit.* is reached.*pids\.max/, explain.call(Errno::EAGAIN))
  is_limited = !Process.euid.zero? && Process.getrlimit(:NPROC).first != Process::RLIM_INFINITY
  Harness.same(is_limited, explain.call(Errno::EAGAIN).include?("ulimit -u"))
  Harness.match(/fork.2.: there is no memory for it.*vm\.overcommit_memory/, explain.call(Errno::ENOMEM))
  Harness.same(false, explain.call(Errno::ENOMEM).include?("pids.max"))
  Harness.same("Too many open files - fork(2)", explain.call(Errno::EMFILE))
end
Harness.check("the place of a backtrace is found in a folder whose name is not in the locale's encoding") do
  folder = "/srv/caf\u00e9/".dup.force_encoding("US-ASCII")
  place = FoolsGold::Progress.place(["/gems/a.rb:1:in `read'", "/srv/caf\u00e9/boot.rb:2:in `load'"], folder)
  Harness.same("at /gems/a.rb:1:in `read', called from /srv/caf\u00e9/boot.rb:2:in `load'".b, place.b)
end
Harness.check("for a gem that was activated before Bundler, the error is Bundler's, and not that there is none") do
  message = "You have already activated gold 2, but your Gemfile requires gold 1."
  bundler = <<~RUBY
    module Bundler
      GemNotFound = GitError = Class.new(StandardError)
      def self.setup
        raise Gem::LoadError, #{message.dump}
      end
    end
  RUBY
  MoldTest.with_library("bundler", bundler) do |env|
    Front.run("run proc {}", gemfile: "/no/Gemfile", env: env) do |front|
      Harness.match(/\AGem::LoadError\0#{Regexp.escape(message)}\0/, front.ready.last.force_encoding("UTF-8"))
    end
  end
end
Harness.check("a hooks file is UTF-8 in every locale") do
  hooks = "after_fork { $name = 'gr\u00fc\u00dfe' }"
  Front.run("run ->(_) { [200, {}, [$name]] }", hooks: hooks, env: { "LC_ALL" => "C" }) do |front|
    Harness.same(FoolsGold::Frames::READY, front.ready.first)
    Harness.same("gr\u00fc\u00dfe".b, front.fork.get("/").body)
  end
end
Harness.check("the application does not get this server as rackup's default handler, but any other") do
  app = "found = ENV.values_at('RACKUP_HANDLER', 'RACK_HANDLER').inspect\nrun ->(_) { [200, {}, [found]] }"
  %w[foolsgold FoolsGold fools_gold].each do |handler|
    env = { "RACKUP_HANDLER" => handler, "RACK_HANDLER" => "webrick" }
    Front.run(app, env: env) { |front| Harness.same('[nil, "webrick"]', front.fork.get("/").body) }
  end
end
MoldTest.answering("constants of a hooks file are those of the application, and not the server's", '["Channel", nil]',
                   "run ->(_) { [200, {}, [$found]] }",
                   hooks: "class ::Channel; end\nafter_fork { $found = [Channel.name, defined?(Worker)].inspect }\n")
# A new object counts as old after three collections. One of them marks all objects.
AGES = <<~'RUBY'
  require "objspace"
  $kept = Object.new
  $before = GC.stat(:major_gc_count)
  run(lambda do |_|
    few = Process.respond_to?(:warmup) || GC.stat(:major_gc_count) - $before < 3
    [200, {}, [[ObjectSpace.dump($kept).include?('"old":true'), few].inspect]]
  end)
RUBY
if RUBY_ENGINE == "ruby"
  MoldTest.answering("what is loaded is old before the fork, and all of it is marked only once for that",
                     "[true, true]", AGES)
end
LOOK = "RUBY_ENGINE == 'ruby' && GC.enable"
MoldTest.answering("garbage is collected while the application is loaded, and in its workers", "[false, false]",
                   "AT_LOAD = #{LOOK}\nrun ->(_) { [200, {}, [[AT_LOAD, #{LOOK}].inspect]] }")
PRIORITIES = <<~'RUBY'
  found = lambda { [Thread.current.priority, Thread.new { Thread.current.priority }.value] }
  loaded = found.call
  run ->(_) { [200, {}, [(loaded + found.call).uniq.inspect]] }
RUBY
Harness.check("the time slices of all threads are short where Ruby can be told so, unless their length is chosen") do
  is_ours = RUBY_ENGINE == "ruby" && RUBY_VERSION >= "3.3"
  { {} => is_ours, { "RUBY_THREAD_TIMESLICE" => "50" } => is_ours && RUBY_VERSION < "3.4" }.each do |env, is_short|
    Front.run(PRIORITIES, env: env) do |front|
      Harness.match(/\0short_slices\0#{is_short ? 'yes' : 'no'}\0/, front.ready.last)
      Harness.same(is_short ? "[-3]" : "[0]", front.fork.get("/").body)
    end
  end
end
OWN_FILES = "run ->(_) { [200, {}, [$LOADED_FEATURES.grep(%r{/compat_\\w+\\.rb\\z}).size.to_s]] }"
Harness.check("files for another server's configuration are loaded only with one") do
  Front.run(OWN_FILES) { |front| Harness.same("0", front.fork.get("/").body) }
  Front.run(OWN_FILES, hooks: "after_stopped { nil }", hooks_kind: "puma", hooks_names: "after_stopped") do |front|
    Harness.same("4", front.fork.get("/").body)
  end
end
ASKED = "run ->(_) { [200, {}, [$asked.inspect]] }"
Harness.check("a mold that reads another server's file gives it the values of the command line") do
  { "unicorn" => ["RACKUP.values_at(:daemonize, :host, :port, :set_listener)", '[true, "0.0.0.0", 4000, true]'],
    "puma" => ["@options.user_options.values_at(:daemon, :workers)", "[true, 3]"] }.each do |kind, (asked, expected)|
    setup = { hooks_kind: kind, hooks_daemonizes: "yes", hooks_port: "4000", hooks_workers: "3" }
    Front.run(ASKED, hooks: "$asked = #{asked}", **setup) { |front| Harness.same(expected, front.fork.get("/").body) }
  end
end
MoldTest.answering("bytes that are no text are no number of workers for a configuration of Puma", "0", ASKED,
                   hooks: "ENV['WEB_CONCURRENCY'] = 255.chr\n$asked = @options[:workers]", hooks_kind: "puma")
if RUBY_ENGINE == "ruby"
  Harness.check("a child that a hook forks when the server begins to serve ends, and logs nothing") do
    hooks = "after_booted do\n  (child = fork) ? Process.wait(child) : exit\n" \
            "  File.write(File.join(__dir__, 'waited'), '')\nend\n"
    Front.run(ASKED, hooks: hooks, hooks_kind: "puma, single", hooks_names: "after_booted") do |front|
      worker = front.fork
      worker.order(Front::F::SERVING)
      Harness.eventually("the end of the child") { File.exist?(File.join(front.folder, "waited")) }
      worker.ping
      Harness.same([], front.logs.grep(/after_booted/))
    end
  end
  # From Ruby 4.0 on, Logger is a gem.
  Harness.check("hooks of another server need no Logger that the bundle does not have") do
    setup = { hooks: "before_fork { |server, _| server.logger.info('logged by a hook') }", hooks_kind: "unicorn" }
    MoldTest.with_library("logger", "raise LoadError, 'cannot load such file -- logger'\n") do |env|
      Front.run("run ->(_) { [200, {}, ['x']] }", hooks_names: "before_fork", env: env, **setup) do |front|
        Harness.same("x", front.fork.get("/").body)
        Harness.match(/logged by a hook/, front.logs.join)
      end
    end
  end
end
# Where older versions of RubyGems keep the list of all gems, once they have made it.
LISTED = <<~'RUBY'
  is_known = RUBY_ENGINE == "ruby" && Gem::Specification.class_variable_defined?(:@@stubs)
  listed = is_known && Gem::Specification.class_variable_get(:@@stubs)
  run ->(_) { [200, {}, [listed ? "all gems" : "not all gems"]] }
RUBY
MoldTest.answering("Rack is found without a look at all gems", "not all gems", LISTED)
PARSER = <<~'RUBY'
  LOADED = $LOADED_FEATURES.any? { |path| path.end_with?("/optparse.rb") }
  run ->(_) { [200, {}, [[LOADED, OptionParser.name].inspect]] }
RUBY
MoldTest.answering("Rack's own server is not loaded to read options of a file that has none", '[false, "OptionParser"]',
                   PARSER)
MoldTest.answering("a file with options in its first line is loaded", "here",
                   "#\\ -p 9292 -E test\nrun ->(_) { [200, {}, ['here']] }")
PUMA = <<~'RUBY'
  module Puma
    def self.stats_object=(object)
      @stats = object
    end
    def self.stats_hash; @stats.stats; end
    Const = Module.new
    Const::PUMA_VERSION = "8"
  end
RUBY
FIGURES = <<~'RUBY'
  figures = %i[backlog running busy_threads pool_capacity max_threads io_threads backlog_max reactor_max]
  run ->(_) { [200, {}, [Puma.stats_hash.values_at(*figures).inspect]] }
RUBY
MoldTest.answering("Puma.stats has the figures of the worker", "[0, 3, 1, 2, 3, 0, 0, 0]", PUMA + FIGURES, threads: "3")
CURRENT = <<~'RUBY'
  module Puma
    class Server
      def self.current
        Thread.current[:puma_server]
      end
    end
  end
  class Thread
    attr_reader :puma_server
  end
  run(lambda do |_|
    server = Puma::Server.current
    elsewhere = Thread.new { Puma::Server.current }.value
    is_same = Thread.current.puma_server.equal?(server)
    found = [server.max_threads, server.busy_threads, server.shutting_down?, is_same, elsewhere]
    [200, {}, [found.inspect]]
  end)
RUBY
Harness.check("Puma::Server.current is there in threads of requests, and says when the worker ends") do
  Front.run(CURRENT, threads: "2") do |front|
    worker = front.fork
    Harness.same([2, 1, false, true, nil].inspect, worker.get("/").body)
    worker.order(Front::F::CLOSING)
    Harness.eventually("it says so") { worker.get("/").body == [2, 1, true, true, nil].inspect }
  end
end
GONE = <<~'RUBY'
  module Puma
    class ConnectionError < RuntimeError; end
  end
  endless = Enumerator.new do |parts|
    loop { parts << "x" }
  rescue Puma::ConnectionError => error
    $rescued = error.class
  end
  run ->(env) { [200, {}, env["PATH_INFO"] == "/endless" ? endless : [$rescued.inspect]] }
RUBY
Harness.check("a body rescues Puma::ConnectionError when its client has gone") do
  Front.run(GONE) do |front|
    worker = front.fork
    Harness.same(Front::F::MORE, worker.get("/endless", seq: 8).flags)
    worker.order(Front::F::CANCEL, 0, 8)
    worker.answers
    Harness.same("Errno::EPIPE", worker.get("/rescued").body)
  end
end
HEALTH = <<~'RUBY'
  module Pitchfork
    module Info
      def self.shutting_down?
        raise "no server"
      end
    end
  end
  run ->(_) { [200, {}, [Pitchfork::Info.shutting_down?.to_s]] }
RUBY
Harness.check("Pitchfork::Info says whether the server ends") do
  Front.run(HEALTH) do |front|
    worker = front.fork
    Harness.same("false", worker.get("/").body)
    worker.order(Front::F::CLOSING)
    Harness.eventually("it says so") { worker.get("/").body == "true" }
  end
end
AGENT = <<~'RUBY'
  module Puma
    class Server
      def lowlevel_error(error, env, status = 500)
        @options[:lowlevel_error_handler].call(error, env, status)
      end
    end
  end
  module Agent
    def lowlevel_error(error, env, status = 500)
      $reported = [error.message, env["PATH_INFO"], super.first]
      raise "no agent" if env["PATH_INFO"] == "/mute"
    end
  end
  Puma::Server.prepend(Agent)
  endless = Enumerator.new do |parts|
    File.write(File.join(__dir__, "begun"), "")
    loop { parts << "x" }
  end
  run(lambda do |env|
    case env["PATH_INFO"]
    when "/reported" then [200, {}, [$reported.inspect]]
    when "/endless" then [200, { "content-length" => "1" }, endless]
    else raise "lost"
    end
  end)
RUBY
Harness.check("agents that report exceptions from Puma's server get them") do
  Front.run(AGENT) do |front|
    worker = front.fork
    %w[/raise /mute].each do |path|
      Harness.match(/\ARuntimeError\0lost/, worker.get(path).body)
      Harness.same(["lost", path, 500].inspect, worker.get("/reported").body)
    end
    worker.ask("/endless", seq: 9)
    Harness.eventually("the body is collected") { File.exist?(File.join(front.folder, "begun")) }
    worker.order(Front::F::CANCEL, 0, 9)
    Harness.match(/\AErrno::EPIPE/, worker.answer.body)
    Harness.same(["lost", "/mute", 500].inspect, worker.get("/reported").body)
  end
end
EVENTS = <<~'RUBY'
  $events = []
  PhusionPassenger.on_event(:starting_worker_process) { |forked| $events << forked }
  PhusionPassenger.on_event(:starting_request_handler_thread) { $events << "thread" }
  PhusionPassenger.on_event(:stopping_worker_process) { File.write(File.join(__dir__, "stopped"), "") }
  PhusionPassenger.advertised_concurrency_level = 0
  run ->(_) { [200, {}, [$events.inspect]] }
RUBY
%w[yes no].each do |preload|
  Harness.check("hooks that an application gives to Passenger run, with preload=#{preload}") do
    Front.run(EVENTS, passenger: "yes", preload: preload) do |front|
      worker = front.fork
      is_forked = preload == "yes" && RUBY_ENGINE == "ruby"
      Harness.same([is_forked, "thread"].inspect, worker.get("/").body)
      worker.order(Front::F::STOP)
      Harness.eventually("the end of the worker") { File.exist?(File.join(front.folder, "stopped")) }
    end
  end
end
MoldTest.answering("PhusionPassenger is defined only for Passenger's configuration", "nil",
                   "run ->(_) { [200, {}, [defined?(PhusionPassenger).inspect]] }")
Harness.check("a worker keeps the pipe for reports open only if it sends further reports") do
  { nil => [true, true], [0] * 6 => [true, false] }.each do |figures, expected|
    children = FoolsGold::Children.new
    children.listen
    children.report(figures)
    ends = %i[@reports @report].map { |name| children.instance_variable_get(name) }
    Harness.same(expected, ends.map(&:closed?))
    ends.each(&:close)
  end
end
CLUSTER = "#{PUMA}run ->(_) { [200, {}, [$seen.inspect]] }\n"
AS_SEEN = <<~'RUBY'
  before_fork do
    stats = Puma.stats_hash
    $seen = [stats.values_at(:workers, :booted_workers, :old_workers),
             stats[:worker_status].map { |one| one.values_at(:pid, :index).push(one[:last_status].values) }]
  end
RUBY
if RUBY_ENGINE == "ruby"
  Harness.check("Puma.stats lists the workers in the process that forks them") do
    Front.run(CLUSTER, hooks: AS_SEEN) do |front|
      first = front.fork
      Harness.same([[1, 1, 0], [[first.pid, 0, [0, 1, 1, 0, 1, 0, 0, 0, 0]]]].inspect, front.fork(2).get("/").body)
      first.get("/", seq: 7)
      first.ping
      Harness.match(/\[\[2, 2, 0\], \[\[#{first.pid}, 0, \[0, 1, 1, 0, 1, 7, 0, 0, 0\]\], /,
                    front.fork(3).get("/").body)
    end
  end
  Harness.check("Puma.stats counts no worker as booted that is booting") do
    Front.run(CLUSTER, hooks: "#{AS_SEEN}after_fork { |number| sleep if number == 2 }\n") do |front|
      front.mold.write(Front::F.frame(Front::F::FORK, [2, 1].pack("NN")))
      _, payload = front.await(front.mold, Front::F::FORKED)
      front.accept(Front::F::CONTROL_ROLE)
      front.give_claims
      expected = [[1, 0, 0], [[payload.unpack("NN").last, 1, []]]]
      Harness.same(expected.inspect, front.fork(3).get("/").body)
    end
  end
  Harness.check("a mold that makes way before it has forked has stopped nothing, for Puma's after_stopped") do
    hooks = "after_stopped { File.write(File.join(__dir__, 'stopped'), '') }"
    MoldTest.holding(hooks, hooks_kind: "puma", hooks_names: "after_stopped") do |front|
      front.refused
      Process.wait(front.pid)
      Harness.same(false, File.exist?(File.join(front.folder, "stopped")))
    end
  end
  Harness.check("a connection that a thread has for a moment is no reason not to fork") do
    MoldTest.holding("before_fork { Thread.new { sleep 0.3; $held.close } }") do |front|
      Harness.same("true", front.fork.get("/").body)
    end
  end
  Harness.check("no worker is forked while a thread is in a block of Pitchfork.prevent_fork") do
    hooks = <<~'HOOKS'
      before_fork do
        begun = Queue.new
        Thread.new do
          Pitchfork::FORK_LOCK.synchronize do
            begun << ($is_inside = true)
            sleep 0.3
            $is_inside = false
          end
        end
        begun.pop
      end
    HOOKS
    app = "require 'monitor'\nmodule Pitchfork\n  FORK_LOCK = Monitor.new\nend\n" \
          "run ->(_) { [200, {}, [[$is_inside, Pitchfork::FORK_LOCK.mon_locked?].inspect]] }\n"
    Front.run(app, hooks: hooks) { |front| Harness.same([false, false].inspect, front.fork.get("/").body) }
  end
  Harness.check("the thread of Ruby's Timeout does not keep a mold waiting that has a connection") do
    hooks = "before_fork { Thread.new { sleep 0.8; $held.close }.name = 'Timeout stdlib thread' }"
    MoldTest.holding(hooks, &:refused)
  end
end
