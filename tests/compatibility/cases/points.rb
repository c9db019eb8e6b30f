# frozen_string_literal: true

# Bad days and habits: what an operator and a developer notice. Each case starts servers of its own.

require "pty"

module Points
  include Requests
  extend Requests

  NO_WORKERS = { "thin" => "Thin is one process: there are no workers" }.freeze
  IN_PROCESS = { "embedded" => "the embedded engine has no processes, nor a terminal" }.freeze

  # What clients got, as words: nothing with numbers, which are others in each run.
  def self.share(bad, words) = bad.zero? ? "none #{words}" : "some #{words}"

  # A started server with the application of apps/points.ru, ended afterwards.
  def self.serving(server, files: {}, **setup)
    starting(server, files: files, **setup) do |contender, serves|
      raise "#{server.title} does not serve:\n#{contender.log}" unless serves

      yield contender
    end
  end

  def self.starting(server, files: {}, **setup)
    contender = Contender.new(server.contender, App.files("points").merge(files), Contender::Setup.one(**setup))
    yield contender, contender.start
  ensure
    contender&.stop
  end

  # One request on a connection of its own.
  def self.fetch(port, target, host: "127.0.0.1", seconds: 20)
    wire = Wire.new(port, host)
    wire.write(get(target, "Connection: close")).answer("GET", seconds)
  rescue SystemCallError
    Reply.none("no answer")
  ensure
    wire&.close
  end

  # The answers to so many requests at once.
  def self.at_once(count)
    Array.new(count) { |number| Thread.new { yield(number) } }.map(&:value)
  end

  # Waits until the block is true, at most so long.
  def self.within(seconds)
    limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    until (found = yield)
      return false if Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit

      sleep 0.05
    end
    found
  end

  # A backend that gives each line back a moment later.
  def self.backend
    listener = TCPServer.new("127.0.0.1", 0)
    thread = Thread.new do
      loop do
        Thread.new(listener.accept) do |socket|
          while (line = socket.gets)
            sleep 0.001
            socket.write(line)
          end
        rescue SystemCallError, IOError
          nil
        end
      end
    end
    yield listener.addr[1]
  ensure
    thread&.kill
    listener&.close
  end

  Table.part "Bad days and habits", "Most cases start servers of their own."
  Table.section "Workers and load", "Two workers with three threads (Unicorn and Passenger: one thread), but for Thin."

  Table.row "other clients' answers, where the application opens a socket while it loads", app: nil,
            why: "an application with open connections is loaded in each worker instead of being forked (`--preload`)",
            without: NO_WORKERS.merge(IN_PROCESS) do |server|
    backend do |backend|
      serving(server, workers: 2, threads: 3, environment: { "BACKEND" => backend.to_s }) do |contender|
        wrong = at_once(8) do |client|
          (1..40).count { |number| fetch(contender.port, "/echo?#{client}-#{number}").body != "#{client}-#{number}" }
        end
        share(wrong.sum, "wrong")
      end
    end
  end

  Table.row "requests refused, when all threads are held for a second three times", app: nil do |server|
    serving(server, workers: 2, threads: 3) do |contender|
      bad = (1..3).sum do
        replies = at_once(60) { |number| fetch(contender.port, number < 6 ? "/sleep?1" : "/", seconds: 60) }
        replies.count { |reply| reply.status != 200 }
      end
      share(bad, "refused")
    end
  end

  Table.row "other requests lost, when one kills its worker", app: nil,
            why: "requests that may be repeated are given to another worker",
            without: NO_WORKERS.merge(IN_PROCESS) do |server|
    serving(server, workers: 2, threads: 3) do |contender|
      bad = (1..3).sum do
        others = Array.new(6) { Thread.new { fetch(contender.port, "/sleep?1", seconds: 60) } }
        sleep 0.3
        fetch(contender.port, "/die", seconds: 60)
        lost = others.count { |thread| thread.value.status != 200 }
        within(30) { fetch(contender.port, "/").status == 200 } || raise("it does not come back")
        lost
      end
      share(bad, "lost")
    end
  end

  Table.row "another client, when one has opened all connections the process may have", app: nil,
            why: "the connection that has been idle the longest is closed for a new one" do |server|
    serving(server, limits: { rlimit_nofile: [300, 300] }) do |contender|
      wires = []
      begin
        400.times do
          wire = Wire.new(contender.port)
          wires << wire
          wire.write(get)
          wire.io.wait_readable(1) || break
        end
      rescue SystemCallError
        nil
      end
      reply = at_once(3) { fetch(contender.port, "/", seconds: 5) }.find { |one| one.status == 200 }
      reply ? "served" : "kept out"
    ensure
      wires.each(&:close)
    end
  end

  Table.section "The end of the server",
                "TERM, while a WebSocket is open. For other servers it is the best of three runs."

  def self.socket_at_term(server, kind)
    serving(server, threads: 3) do |contender|
      wire = Wire.new(contender.port)
      wire.write(get("/socket?#{kind}", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                     "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="))
      status = wire.answer.status
      next if status == 501
      next "no upgrade: #{status || "no answer"}" if status != 101

      sleep 0.3
      contender.signal(:TERM)
      how = last_word(wire)
      wire.close unless how.start_with?("held")
      "#{how}; the server ends #{within(10) { contender.ended? } ? "at once" : "later"}"
    ensure
      wire&.close
    end
  end

  def self.last_word(wire)
    return "held for 10 s" unless wire.io.wait_readable(10)

    frame = wire.io.read(4).to_s
    return "closed without a word" if frame.empty?

    frame.getbyte(0) == 0x88 ? "a close frame, #{frame[2, 2].unpack1("n")}" : "other bytes"
  rescue SystemCallError
    "closed without a word"
  end

  # Puma holds one in ten, and closes the others.
  def self.best_of_three(server, kind)
    words = nil
    (server.ours? ? 1 : 3).times do
      words = socket_at_term(server, kind)
      break unless words&.start_with?("held")
    end
    words
  end

  AWAY = "1001 (going away) tells the client to come back at once, to the next server".freeze
  NO_HIJACK = Hash.new("it offers the application no hijacking").freeze
  Table.row("a WebSocket by full hijack, as Action Cable has it", app: nil, why: AWAY, without: NO_HIJACK) do |server|
    best_of_three(server, "full")
  end
  Table.row("a WebSocket by 101 and partial hijack", app: nil, why: AWAY, without: NO_HIJACK) do |server|
    best_of_three(server, "partial")
  end

  Table.section "Answers to Rails", "What Rails makes of streamed bodies and numbers."
  asks "`headers[\"X-Total-Count\"] = 42`", get("/header-integer"), header: "x-total-count", app: :answers
  asks "`self.response_body = Enumerator.new`, from Rails 7 on", get("/to_ary-enumerator"), body: true, app: :answers
  asks "a part of a file from Active Storage, from Rails 7 on", get("/to_ary-raises-length"), body: true, app: :answers
  asks "early hints, where nothing asks the server for them", get("/hints"), body: true, app: "points"

  Table.section "New code", "A file that is loaded with the application is written anew."

  PUMA_FILE = "plugin :tmp_restart\n".freeze
  FILE = %w[-C puma.rb].freeze
  OLD = { "version.rb" => "RELEASE = \"old\"\n" }.freeze

  def self.reads_puma?(server) = server.name == "puma" || server.ours?

  Table.row "`tmp/restart.txt` is touched (Puma: `plugin :tmp_restart`)", app: nil do |server|
    files = OLD.merge("puma.rb" => PUMA_FILE, "tmp/.keep" => "")
    serving(server, files: files, options: reads_puma?(server) ? FILE : []) do |contender|
      sleep 1.1 # The time of the file is of the next second for those that compare whole ones.
      contender.write("version.rb", "RELEASE = \"new\"\n")
      contender.write("tmp/restart.txt", "")
      within(15) { fetch(contender.port, "/release").body == "new" } ? "new code" : "old code"
    end
  end

  RELOAD = { "unicorn" => :HUP, "puma" => :USR1, "foolsgold" => :USR1, "embedded" => :USR1 }.freeze
  Table.row "the order to load new code, which raises (USR1; Unicorn: HUP; Passenger: `restart.txt`)", app: nil,
            without: { "thin" => "Thin restarts as a whole" } do |server|
    files = OLD.merge("puma.rb" => "preload_app! false\n", "tmp/.keep" => "")
    serving(server, files: files, workers: 2, options: reads_puma?(server) ? FILE : []) do |contender|
      sleep 1.1
      contender.write("version.rb", "raise \"broken\"\n")
      RELOAD.key?(server.name) ? contender.signal(RELOAD[server.name]) : contender.write("tmp/restart.txt", "")
      limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 8
      bad = 0
      while Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit && bad.zero?
        bad += 1 if fetch(contender.port, "/release", seconds: 5).body != "old"
        sleep 0.05
      end
      bad.zero? ? "the old code serves on" : "requests fail"
    end
  end

  Table.section "Addresses",
                "Where a server listens when nothing says it, and who may open its Unix socket; the umask is 022."

  Table.row "the default address", app: nil do |server|
    serving(server, bind: nil) do |contender|
      %w[127.0.0.1 ::1].map do |host|
        "`#{host}` #{fetch(contender.port, "/", host: host).words.sub("closed", "refused")}"
      end.join(", ")
    end
  end

  def self.unix(server, query)
    Dir.mktmpdir("unix-", server.home == "ring" ? File.join(Contender::RING, "tmp") : nil) do |folder|
      path = File.join(folder, "s.sock")
      before = File.umask(0o022)
      serving(server, bind: "unix://#{path}#{query}") { "`#{File.stat(path).mode.to_s(8)[-4..]}`" }
    ensure
      File.umask(before) if before
    end
  end

  ONLY_PUMA = %w[unicorn thin passenger].to_h { |name| [name, "addresses with `?` are Puma's"] }.freeze
  Table.row("the mode of a Unix socket", app: nil) { |server| unix(server, "") }
  Table.row("the mode of `unix://…?umask=0111`", app: nil, without: ONLY_PUMA) { |server| unix(server, "?umask=0111") }
  Table.row("the mode of `unix://…?mode=0600`", app: nil, without: ONLY_PUMA) { |server| unix(server, "?mode=0600") }

  Table.section "Configuration files", "Whether the server whose file it is starts with it, and FoolsGold with `-C`."

  # A case for a file that only one server, and FoolsGold, can read.
  def self.reads(name, owner, file, text, **more)
    others = %w[puma unicorn thin passenger] - [owner]
    without = others.to_h { |other| [other, "the file of another server"] }
    Table.row(name, app: nil, without: without, **more) do |server|
      itself = { "unicorn" => [], "passenger" => [] }.fetch(server.name, ["-C", file])
      starting(server, files: { file => text }, options: itself) { |_, serves| serves ? "serves" : "refuses" }
    end
  end

  reads "puma.rb: `bind_to_activated_sockets \"only\"`, without sockets", "puma", "puma.rb",
        "bind_to_activated_sockets \"only\"\n"
  reads "puma.rb: `rackup DefaultRackup`", "puma", "puma.rb", "rackup DefaultRackup\n",
        why: "what Puma 5 and 6 take, of which many files are left"
  reads "puma.rb: `@config.options[:environment]`", "puma", "puma.rb", "@config.options[:environment] || raise\n",
        why: "what Puma 5 and 6 take, of which many files are left"
  reads "puma.rb: hooks, `preload_app!`, `worker_timeout`, `tag`", "puma", "puma.rb", <<~FILE
    preload_app!
    worker_timeout 30
    tag "shop"
    before_fork { nil }
    on_worker_boot { nil }
    lowlevel_error_handler { |_| [500, {}, ["an error"]] }
  FILE
  reads "unicorn.rb: hooks, `preload_app false`, `timeout`", "unicorn", "unicorn.rb", <<~FILE
    worker_processes 1
    timeout 30
    preload_app false
    before_fork { |_server, _worker| nil }
    after_fork { |_server, _worker| nil }
  FILE
  reads "thin.yml: `timeout`, `max_conns`, `tag`", "thin", "thin.yml", "timeout: 30\nmax_conns: 1024\ntag: shop\n"
  reads "Passengerfile.json with comments", "passenger", "Passengerfile.json",
        "{\n  // what it is for\n  \"max_pool_size\": 1 /* one */\n}\n"
  reads "Passengerfile.json with a comma at the end", "passenger", "Passengerfile.json",
        "{\n  \"max_pool_size\": 1,\n}\n"
  reads "puma.rb with a mistake, `persistent_timeout \"many\"`", "puma", "puma.rb", "persistent_timeout \"many\"\n"

  Table.section "A terminal", "The server is started in one, in development."
  Table.row "`$stdin.tty?` in the application, as debuggers need it", app: nil, without: IN_PROCESS do |server|
    _, terminal = PTY.open
    serving(server, mode: "development", stdin: terminal) { |contender| fetch(contender.port, "/stdin").body }
  end
end
