# frozen_string_literal: true

# Connections that the application takes over, fully and partially.

HIJACK = <<~'RUBY'
  talk = lambda do |io|
    io.write("hi #{io.gets}")
    io.close
  end
  $lock = Mutex.new
  run(lambda do |env|
    case env["PATH_INFO"]
    when "/full"
      io = env["rack.hijack"].call
      Thread.new { talk.call(io) }
      [0, nil, nil]
    when "/full-raise"
      env["rack.hijack"].call.close
      raise "later"
    when "/full-fails"
      ($kept = env["rack.hijack"].call).write("half")
      raise "way"
    when "/full-closed"
      IO.for_fd(env["rack.hijack"].call.fileno).close
      raise "way"
    when "/full-late"
      begin
        Timeout.timeout(0.2) { env["rack.hijack"].call }
      rescue Timeout::Error
        [200, {}, ["late"]]
      end
    when "/thread" then Thread.new { env["rack.hijack"].call } && [200, {}, ["at once"]]
    when "/keep" then ($kept = env.values_at("rack.hijack", "rack.early_hints")) && [200, {}, ["kept"]]
    when "/stale"
      $kept.last.call("link" => "</secret.css>")
      [200, {}, [begin $kept.first.call; rescue IOError => error; error.message; end]]
    when "/shown" then [200, {}, [env.inspect, env["rack.hijack"].instance_variable_get(:@slot).as_json(only: [])]]
    when "/partial" then [200, { "a" => "b", "rack.hijack" => talk }, []]
    when "/raise" then [200, { "rack.hijack" => ->(io) { io.write("half") && raise("way") } }, []]
    when "/end" then [200, { "rack.hijack" => ->(io) { io.write("half") && Thread.exit } }, []]
    when "/locked"
      $lock.lock
      [200, { "rack.hijack" => talk }, Object.new.tap { |body| def body.close; $lock.unlock; end }]
    when "/locked?" then [200, {}, [$lock.locked?.to_s]]
    when "/upgrade" then [101, { "upgrade" => "x" }, talk]
    when "/order"
      $order = []
      env["rack.after_reply"] << -> { $order << "after_reply" }
      env["rack.response_finished"] << ->(_, status, *) { $order << "finished #{status}" }
      reads = lambda do |io|
        talk.call(io)
        $order << env["rack.input"].read
      end
      [200, { "rack.hijack" => reads }, Object.new.tap { |body| def body.close; $order << "closed"; end }]
    when "/order?" then [200, {}, [$order.join(", ")]]
    else [200, {}, ["x"]]
    end
  end)
RUBY

Front.run(HIJACK) do |front|
  frames = FoolsGold::Frames
  worker = front.fork
  talk = lambda do |role|
    io = front.accept(role)
    io.write("\x01me\n")
    Harness.same("hi me\n", io.read)
  end
  Harness.check("full hijack") do
    worker.ask("/full")
    talk.call(frames::FULL_ROLE)
    Harness.same(frames::TAKEN, worker.answer.flags)
    Harness.same("x", worker.get("/").body)
  end
  Harness.check("an error after a full hijack") do
    worker.ask("/full-raise")
    front.accept(frames::FULL_ROLE).write("\x01")
    Harness.same(frames::TAKEN, worker.answer.flags)
  end
  Harness.check("an error after a full hijack breaks the connection off, though the application keeps it") do
    worker.ask("/full-fails")
    io = front.accept(frames::FULL_ROLE)
    io.write("\x01")
    broken = front.accept(frames::BROKEN_ROLE)
    numbers = [io, broken].map { |one| one.instance_variable_get(:@numbers).first(3) }
    Harness.same(numbers.first, numbers.last)
    broken.write("\x01")
    Harness.same(["half", frames::TAKEN], [io.read, worker.answer.flags])
  end
  if RUBY_ENGINE == "ruby"
    Harness.check("an error after a full hijack ends no worker, whatever the application has closed") do
      worker.ask("/full-closed")
      [frames::FULL_ROLE, frames::BROKEN_ROLE].each { |role| front.accept(role).write("\x01") }
      Harness.same(frames::TAKEN, worker.answer.flags)
      Harness.same("x", worker.get("/").body)
    end
  end
  Harness.check("an exception during the wait for the connection of a client closes that") do
    worker.ask("/full-late")
    io = front.accept(frames::FULL_ROLE)
    Harness.same("late", worker.answer.body)
    Harness.same("", Timeout.timeout(Front::DEADLINE) { io.read })
  end
  Harness.check("a hijack in a thread that the answer overtakes is of no meaning for the next request") do
    worker.ask("/thread")
    io = front.accept(frames::FULL_ROLE)
    Harness.same("at once", worker.answer.body)
    io.write("\x01")
    3.times { Harness.same(["x", 0], worker.get("/").then { |answer| [answer.body, answer.flags] }) }
  end
  Harness.check("what an application keeps of an answered request reaches no other client") do
    Harness.same("kept", worker.get("/keep").body)
    Harness.same("the connection cannot be taken: its request has been answered", worker.get("/stale").body)
  end
  Harness.check("the text of an environment has no data of the server") do
    shown = worker.get("/shown").body
    Harness.match(/@slot=#<FoolsGold::(Native)?Slot 0>.*}#<FoolsGold::(Native)?Slot 0>\z/m, shown)
    Harness.same(nil, shown[/secret|@wire|@shapes/])
  end
  [["/partial", 200, %w[a b]], ["/upgrade", 101, %w[upgrade x]]].each do |path, status, header|
    Harness.check("hijack #{path}") do
      answer = worker.get(path)
      Harness.same([frames::UPGRADE, status, [header]], [answer.flags, answer.status, answer.headers])
      talk.call(frames::PARTIAL_ROLE)
      Harness.same("x", worker.get("/").body)
    end
  end
  [%w[/raise raises], ["/end", "ends its thread"]].each do |path, what|
    Harness.check("a partial hijack whose code #{what} closes its connection when the front knows of that") do
      answer = worker.get(path)
      Harness.same(frames::UPGRADE, answer.flags)
      io = front.accept(frames::PARTIAL_ROLE)
      io.write("\x01")
      broken = front.accept(frames::BROKEN_ROLE)
      numbers = [io, broken].map { |one| one.instance_variable_get(:@numbers).first(3) }
      Harness.same(numbers.first, numbers.last)
      Harness.same("half", io.read(4))
      Harness.same(nil, IO.select([io], nil, nil, 0))
      broken.write("\x01")
      Harness.same("", io.read)
    end
  end
  Harness.check("the body beside a hijack is closed in the thread of its request, as Rack::Lock needs it") do
    worker.get("/locked")
    Harness.same("true", worker.get("/locked?").body)
    talk.call(frames::PARTIAL_ROLE)
    Harness.eventually("it is unlocked") { worker.get("/locked?").body == "false" }
  end
  Harness.check("what runs after an answer runs after a partial hijack, which may read a large body to its end") do
    File.open(front.file("body", "a large body"), "rb") do |file|
      worker.ask("/order", method: "POST", how: 2, body: [12].pack("Q>"))
      front.accept(frames::BODY_ROLE).send_io(file)
      Harness.same(frames::UPGRADE, worker.answer.flags)
      Harness.same("", worker.get("/order?").body)
      talk.call(frames::PARTIAL_ROLE)
      wanted = "a large body, closed, after_reply, finished 200"
      Harness.eventually(wanted) { worker.get("/order?").body == wanted }
    end
  end
end

ENDED = <<~'RUBY'
  # Ends the thread of a request before that begins, or after its answer, as a timer in another thread may.
  FoolsGold::Runner.prepend(Module.new do
    private

    def serve(env)
      Thread.exit if env["PATH_INFO"] == "/before"
      super
      Thread.exit if env["PATH_INFO"] == "/after"
    end
  end)
  # Ends a thread from outside while it leaves its slot to another one.
  FoolsGold::Worker.prepend(Module.new do
    private

    def start(runner)
      super
      thread = Thread.current
      Thread.new { thread.kill }.join if $ends
    end
  end)
  run(lambda do |env|
    $ends = env["PATH_INFO"] == "/between"
    next [200, {}, [Thread.list.count { |thread| thread.name == "slot 1" }.to_s]] if env["PATH_INFO"] == "/count"
    %w[/after /between].include?(env["PATH_INFO"]) ? [200, { "rack.hijack" => :close.to_proc }, []] : [200, {}, ["x"]]
  end)
RUBY

# The first slot has the main thread, whose end is that of the worker.
Front.run(ENDED, threads: "2") do |front|
  frames = FoolsGold::Frames
  worker = front.fork
  Harness.check("a request whose thread ends before it begins has an answer") do
    answer = worker.get("/before", slot: 1)
    Harness.same(frames::FAULT, answer.kind)
    Harness.match(/\AFoolsGold::ThreadEnded/, answer.body)
    Harness.same("x", worker.get("/", slot: 1).body)
  end
  Harness.check("a partial hijack whose thread ends before its code is called is closed") do
    Harness.same(frames::UPGRADE, worker.get("/after", slot: 1).flags)
    Harness.same("", Timeout.timeout(Front::DEADLINE) { front.accept(frames::PARTIAL_ROLE).read })
    Harness.same("x", worker.get("/", slot: 1).body)
  end
  Harness.check("a thread that ends while it leaves its slot to another one leaves it to no third one") do
    Harness.same(frames::UPGRADE, worker.get("/between", slot: 1).flags)
    Harness.same("", Timeout.timeout(Front::DEADLINE) { front.accept(frames::PARTIAL_ROLE).read })
    sleep 0.2
    Harness.same("1", worker.get("/count", slot: 0).body)
  end
end

TWICE = <<~'RUBY'
  # While the exception of a timer is logged, which came too late for its request, another one comes.
  FoolsGold::Log.singleton_class.prepend(Module.new do
    def exception(*)
      thread = Thread.current
      Thread.new { thread.raise("second") }.join if ($times += 1) == 1
      super
    end
  end)
  $times = 0
  run(lambda do |env|
    thread = Thread.current
    Thread.new { sleep 0.1 and thread.raise("first") } if env["PATH_INFO"] == "/late"
    [200, {}, ["x"]]
  end)
RUBY

Front.run(TWICE) do |front|
  worker = front.fork
  Harness.check("two exceptions that come too late for a request end no worker") do
    Harness.same("x", worker.get("/late").body)
    sleep 0.3
    Harness.same("x", worker.get("/").body)
  end
end
