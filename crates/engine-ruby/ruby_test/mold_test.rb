# frozen_string_literal: true

# The mold loads the application, forks workers, runs hooks and exits.

%w[limits progress].each { |name| require_relative "../ruby/#{name}" }

HOOKS = <<~RUBY
  $order = []
  before_fork { $order << :before }
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
  F = FoolsGold::Frames
  H = Harness

  def self.failing(name, rackup, pattern, **options)
    H.check(name) do
      Front.run(rackup, **options) do |front|
        H.same(F::FAILED, front.ready.first)
        H.match(pattern, front.ready.last.force_encoding("UTF-8"))
      end
    end
  end

  def self.answering(name, body, rackup, **options)
    H.check(name) do
      Front.run(rackup, **options) { |front| H.same(body, front.fork.get("/").body) }
    end
  end

  # A mold whose application holds a connection.
  def self.holding(hooks, **options, &block)
    listener = TCPServer.new("127.0.0.1", 0)
    rackup = "$held = TCPSocket.new('127.0.0.1', #{listener.addr[1]})\nrun ->(_) { [200, {}, [$held.closed?.to_s]] }"
    Front.run(rackup, hooks: hooks, preload: "yes", **options, &block)
  ensure
    listener&.close
  end

  # Orders a worker that would share the connection.
  def self.share(front)
    front.mold.write(F.frame(F::FORK, [1, 0].pack("NN")))
    front.await(front.mold, F::SHARED)
  end

  def self.stop(front, worker)
    pids = [worker.pid]
    worker.order(F::STOP)
    _, payload = front.await(front.mold, F::EXITED)
    H.same([1, *pids, 0], payload.unpack("NNl>"))
    H.same("1", File.read(File.join(front.folder, "shutdown")))
    H.same(true, File.exist?(File.join(front.folder, "at_exit-#{pids.first}")))
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
    Harness.check("STOP ends a worker gracefully") { MoldTest.stop(front, worker) }
    Harness.check("a killed worker is reported") do
      worker = front.fork(3)
      Process.kill("KILL", worker.pid)
      _, payload = front.await(front.mold, FoolsGold::Frames::EXITED)
      Harness.same([3, worker.pid, -9], payload.unpack("NNl>"))
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
  told = lambda { |error| FoolsGold::Limits.explain(error.new("fork(2)")) }
  Harness.match(/fork.2.: a limit.* is reached.*pids\.max/, told.call(Errno::EAGAIN))
  is_limited = !Process.euid.zero? && Process.getrlimit(:NPROC).first != Process::RLIM_INFINITY
  Harness.same(is_limited, told.call(Errno::EAGAIN).include?("ulimit -u"))
  Harness.match(/fork.2.: there is no memory for it.*vm\.overcommit_memory/, told.call(Errno::ENOMEM))
  Harness.same(false, told.call(Errno::ENOMEM).include?("pids.max"))
  Harness.same("Too many open files - fork(2)", told.call(Errno::EMFILE))
end
Harness.check("the place of a backtrace is found in a folder whose name is not in the locale's encoding") do
  folder = "/srv/caf\u00e9/".dup.force_encoding("US-ASCII")
  place = FoolsGold::Progress.place(["/gems/a.rb:1:in `read'", "/srv/caf\u00e9/boot.rb:2:in `load'"], folder)
  Harness.same("at /gems/a.rb:1:in `read', called from /srv/caf\u00e9/boot.rb:2:in `load'".b, place.b)
end
MoldTest.failing("an error in config.ru", "raise 'at load'", /\ARuntimeError\0at load\0.*config.ru/)
MoldTest.failing("a syntax error in config.ru", "run(", /\ASyntaxError\0/)
MoldTest.failing("exit in config.ru", "exit 3", /\ASystemExit\0/)
MoldTest.failing("an unknown hook", "run proc {}", /befor_fork is not known in a hooks file; known are before_fork/,
                 hooks: "befor_fork { }")
MoldTest.failing("a missing Gemfile", "run proc {}", /Gemfile/, gemfile: "/no/Gemfile")
Harness.check("for a gem that was activated before Bundler, the error is Bundler's, and not that there is none") do
  kept = ENV["RUBYLIB"]
  message = "You have already activated gold 2, but your Gemfile requires gold 1."
  Dir.mktmpdir do |folder|
    File.write(File.join(folder, "bundler.rb"), <<~RUBY)
      module Bundler
        GemNotFound = GitError = Class.new(StandardError)
        def self.setup
          raise Gem::LoadError, #{message.dump}
        end
      end
    RUBY
    ENV["RUBYLIB"] = [folder, *kept].join(File::PATH_SEPARATOR)
    Front.run("run proc {}", gemfile: "/no/Gemfile") do |front|
      Harness.match(/\AGem::LoadError\0#{Regexp.escape(message)}\0/, front.ready.last.force_encoding("UTF-8"))
    end
  end
ensure
  ENV["RUBYLIB"] = kept
end
Harness.check("a hooks file is UTF-8 in every locale") do
  kept = ENV["LC_ALL"]
  ENV["LC_ALL"] = "C"
  Front.run("run ->(_) { [200, {}, [$name]] }", hooks: "after_fork { $name = 'gr\u00fc\u00dfe' }") do |front|
    Harness.same(FoolsGold::Frames::READY, front.ready.first)
    Harness.same("gr\u00fc\u00dfe".b, front.fork.get("/").body)
  end
ensure
  ENV["LC_ALL"] = kept
end
Harness.check("the application does not get this server as rackup's default handler, but any other") do
  names = %w[RACKUP_HANDLER RACK_HANDLER]
  kept = names.map { |name| ENV[name] }
  app = "found = ENV.values_at('RACKUP_HANDLER', 'RACK_HANDLER').inspect\nrun ->(_) { [200, {}, [found]] }"
  %w[foolsgold FoolsGold fools_gold].each do |handler|
    names.zip([handler, "webrick"]) { |name, value| ENV[name] = value }
    Front.run(app) { |front| Harness.same('[nil, "webrick"]', front.fork.get("/").body) }
  end
ensure
  names.zip(kept) { |name, value| ENV[name] = value }
end
MoldTest.answering("constants of a hooks file are those of the application, and not the server's", '["Channel", nil]',
                   "run ->(_) { [200, {}, [$found]] }",
                   hooks: "class ::Channel; end\nafter_fork { $found = [Channel.name, defined?(Worker)].inspect }\n")
# ActiveRecord 6.1 and 7.0 with roles in one handler, and in one for each (6.0, and legacy_connection_handling).
ROLES = <<~'RUBY'
  $closed = []
  module ActiveRecord
    Pool = Struct.new(:name) { define_method(:disconnect!) { $closed << name } }
    Handler = Struct.new(:pools) do
      def clear_all_connections!(_role = :writing); pools.first.disconnect!; end
    end
    class Base; end
    def self.version; Gem::Version.new("7.0.8"); end
  end
  def handler(*names); ActiveRecord::Handler.new(names.map { |name| ActiveRecord::Pool.new(name) }); end
  run ->(_) { [200, {}, [$closed.inspect]] }
RUBY
ONE = <<~'RUBY'
  ONE = handler(:writing, :reading)
  def ONE.all_connection_pools; pools; end
  def (ActiveRecord::Base).connection_handler; ONE; end
  def (ActiveRecord::Base).connection_handlers; raise(NotImplementedError); end
RUBY
EACH = <<~'RUBY'
  EACH = { writing: handler(:writing), reading: handler(:reading) }
  def (ActiveRecord::Base).connection_handler; EACH[:writing]; end
  def (ActiveRecord::Base).connection_handlers; EACH; end
RUBY
if RUBY_ENGINE == "ruby"
  [ONE, EACH].each do |handlers|
    MoldTest.answering("connections of all roles are closed before a fork", "[:writing, :reading]", ROLES + handlers)
  end
end
Harness.check("a hook that raises at boot") do
  Front.run("run proc {}", hooks: "on_worker_boot { raise 'no database' }") do |front|
    Harness.match(/no database/, Harness.raised(RuntimeError) { front.fork })
  end
end
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
OWN_FILES = "run ->(_) { [200, {}, [$LOADED_FEATURES.grep(%r{/old_\\w+\\.rb\\z}).size.to_s]] }"
Harness.check("files for another server's configuration are loaded only with one") do
  Front.run(OWN_FILES) { |front| Harness.same("0", front.fork.get("/").body) }
  Front.run(OWN_FILES, hooks: "after_stopped { nil }", hooks_kind: "puma", hooks_names: "after_stopped") do |front|
    Harness.same("4", front.fork.get("/").body)
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
  figures = %i[backlog running busy_threads pool_capacity max_threads]
  run ->(_) { [200, {}, [Puma.stats_hash.values_at(*figures).inspect]] }
RUBY
MoldTest.answering("Puma.stats has the figures of the worker", "[0, 3, 1, 2, 3]", PUMA + FIGURES, threads: "3")
CLUSTER = "#{PUMA}run ->(_) { [200, {}, [$seen.inspect]] }\n"
AS_SEEN = <<~'RUBY'
  before_fork do
    stats = Puma.stats_hash
    $seen = [stats.values_at(:workers, :booted_workers, :old_workers),
             stats[:worker_status].map { |one| one.values_at(:pid, :index, :last_status) }]
  end
RUBY
if RUBY_ENGINE == "ruby"
  Harness.check("Puma.stats lists the workers in the process that forks them") do
    Front.run(CLUSTER, hooks: AS_SEEN) do |front|
      expected = [[1, 1, 0], [[front.fork.pid, 0, {}]]]
      Harness.same(expected.inspect, front.fork(2).get("/").body)
    end
  end
  Harness.check("Puma.stats counts no worker as booted that is booting") do
    Front.run(CLUSTER, hooks: "#{AS_SEEN}after_fork { |number| sleep if number == 2 }\n") do |front|
      front.mold.write(Front::F.frame(Front::F::FORK, [2, 1].pack("NN")))
      _, payload = front.await(front.mold, Front::F::FORKED)
      front.accept(Front::F::CONTROL_ROLE)
      expected = [[1, 0, 0], [[payload.unpack("NN").last, 1, {}]]]
      Harness.same(expected.inspect, front.fork(3).get("/").body)
    end
  end
  Harness.check("a mold that makes way before it has forked has stopped nothing, for Puma's after_stopped") do
    hooks = "after_stopped { File.write(File.join(__dir__, 'stopped'), '') }"
    MoldTest.holding(hooks, hooks_kind: "puma", hooks_names: "after_stopped") do |front|
      MoldTest.share(front)
      Process.wait(front.pid)
      Harness.same(false, File.exist?(File.join(front.folder, "stopped")))
    end
  end
  Harness.check("a connection that a thread has for a moment is no reason not to fork") do
    MoldTest.holding("before_fork { Thread.new { sleep 0.3; $held.close } }") do |front|
      Harness.same("true", front.fork.get("/").body)
    end
  end
  Harness.check("the thread of Ruby's Timeout does not keep a mold waiting that has a connection") do
    hooks = "before_fork { Thread.new { sleep 0.8; $held.close }.name = 'Timeout stdlib thread' }"
    MoldTest.holding(hooks) { |front| MoldTest.share(front) }
  end
end
Harness.check("all end with the front") do
  pids = []
  Front.run("run ->(env) { sleep }") do |front|
    pids = [front.pid, front.fork.tap { |worker| worker.ask("/") }.pid]
  end
  Harness.eventually("#{pids} end") do
    pids.none? { |pid| File.exist?("/proc/#{pid}") && !File.read("/proc/#{pid}/stat").include?(") Z") }
  end
end
