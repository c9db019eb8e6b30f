# frozen_string_literal: true

# Request bodies that the front keeps in a file.

IN_FILE = <<~RUBY
  run(lambda do |env|
    input = env["rack.input"]
    next [200, {}, input] if env["PATH_INFO"] == "/echo"
    names = input.respond_to?(:path) || input.respond_to?(:to_path)
    [200, {}, [[input.read(3), input.gets, input.read(1), input.rewind, input.read.size, names].inspect]]
  end)
RUBY

LONG = <<~RUBY
  # Calls the block, which a timer ends when there is a file with this name.
  late = lambda do |name, &work|
    thread = Thread.current
    Thread.new do
      sleep 0.001 until File.exist?(name)
      thread.raise(Errno::ETIMEDOUT)
    end
    work.call
    sleep
  end
  # Calls the block while this process may open no further file.
  without_files = lambda do |&work|
    limits = Process.getrlimit(:NOFILE)
    Process.setrlimit(:NOFILE, 256, limits.last)
    files = []
    begin
      loop { files << File.open("/dev/null") }
    rescue Errno::EMFILE
      work.call
    ensure
      files.each(&:close)
      Process.setrlimit(:NOFILE, *limits)
    end
  end
  run(lambda do |env|
    text = env["PATH_INFO"] == "/short" ? "s" * 1_000_000 : "long " * 300_000
    text *= 8 if env["PATH_INFO"] == "/errno"
    body = Object.new
    body.define_singleton_method(:each) do |&block|
      next without_files.call { block.call(text) } if env["PATH_INFO"] == "/full"
      if env["PATH_INFO"] == "/clogged"
        begin
          Timeout.timeout(0.2) { loop { block.call("s" * 500_000) } }
        rescue Timeout::Error
          Timeout.timeout(0.2) { block.call(text) }
        end
      end
      Timeout.timeout(0.2) { block.call(text) } if env["PATH_INFO"] == "/late"
      if %w[/rescued /ended].include?(env["PATH_INFO"])
        begin
          Timeout.timeout(0.2) { block.call(text) }
        rescue Timeout::Error
          File.write(env["QUERY_STRING"], "")
          block.call("rest") if env["PATH_INFO"] == "/rescued"
          next
        end
      end
      next late.call(env["QUERY_STRING"]) { block.call(text) } if env["PATH_INFO"] == "/errno"
      block.call(text)
      text << "changed"
    end
    [200, {}, body]
  end)
RUBY

# The frames of a body, in words; each MEMORY is read by `taken` bytes of it, and released.
def lent(worker, path, *taken)
  frames = []
  worker.ask(path, seq: worker.number)
  until [FoolsGold::Frames::END_OF_BODY, FoolsGold::Frames::FAULT].include?(frames.last&.first)
    kind, payload = worker.frame
    frames << [kind, kind == FoolsGold::Frames::MEMORY ? payload.unpack("Q>Q>").last : payload.bytesize]
    worker.release(taken.shift) if kind == FoolsGold::Frames::MEMORY && taken.any?
  end
  frames.drop(1)
end

Front.run("require 'timeout'\n#{LONG}", memory: "yes") do |front|
  f = FoolsGold::Frames
  worker = front.fork
  Harness.check("a long string is lent, and a short one is sent") do
    Harness.same([[f::MEMORY, 1_500_000], [f::END_OF_BODY, 0]], lent(worker, "/", 1_500_000))
    Harness.same([[f::CHUNK, 524_288], [f::CHUNK, 475_712], [f::END_OF_BODY, 0]], lent(worker, "/short"))
  end
  Harness.check("an exception during the wait leaves the string to the front, and the next one is lent again") do
    frames = lent(worker, "/late")
    Harness.same([f::MEMORY, f::FAULT], frames.map(&:first))
    worker.release(1_500_000)
    Harness.same([[f::MEMORY, 1_500_000], [f::END_OF_BODY, 0]], lent(worker, "/", 1_500_000))
  end
  Harness.check("what the front cannot read is sent, and nothing is lent after that") do
    chunks = [[f::CHUNK, 524_288], [f::CHUNK, 524_288], [f::CHUNK, 451_423], [f::END_OF_BODY, 0]]
    Harness.same([[f::MEMORY, 1_500_000], *chunks], lent(worker, "/", 1))
    Harness.same([f::CHUNK, f::CHUNK, f::CHUNK, f::END_OF_BODY], lent(worker, "/").map(&:first))
  end
  Harness.check("it is sent before what follows, also where an exception has ended the wait for the front") do
    [["/rescued", "rest"], ["/ended", ""]].each.with_index(2) do |(path, rest), number|
      name = File.join(front.folder, "late#{number}")
      late = front.fork(number)
      late.get(path, query: name)
      Harness.same(f::MEMORY, late.frame.first)
      Harness.eventually("the timer goes off") { File.exist?(name) }
      late.release(7)
      *parts, last = late.answers
      Harness.same(("long " * 300_000).byteslice(7..-1) + rest, parts.map(&:body).join)
      Harness.same(f::END_OF_BODY, last.kind)
    end
  end
end

TORN = <<~RUBY
  require "timeout"
  # Goes on where a timer has ended the write of a long String.
  run(lambda do |env|
    body = Object.new
    body.define_singleton_method(:each) do |&block|
      Timeout.timeout(0.2) { block.call("s" * 5_000_000) }
    rescue Timeout::Error
      File.write(env["QUERY_STRING"], "")
      begin
        block.call("rest")
      rescue IOError
        nil
      end
    end
    [200, {}, env["PATH_INFO"] == "/short" ? ["whole"] : body]
  end)
RUBY

Front.run(TORN) do |front|
  f = FoolsGold::Frames
  worker = front.fork
  Harness.check("a body of which a part is missing breaks off, whatever the application writes then") do
    name = File.join(front.folder, "late")
    worker.ask("/", query: name)
    # Nothing is read before, so the connection is full.
    Harness.eventually("the timer goes off") { File.exist?(name) }
    frames = worker.answers
    Harness.match(/\AIOError\0a part of the body is missing/, frames.last.body)
    sent = frames.select { |frame| frame.kind == f::CHUNK }.map(&:body).join
    Harness.same(true, sent.bytesize < 5_000_000 && !sent.include?("r"))
    Harness.same("whole", worker.get("/short").body)
  end
end

KEPT = <<~RUBY
  # Keeps the block of a body, and calls it in the next request.
  run(lambda do |env|
    body = Object.new
    def body.each(&block)
      $kept = block
      yield "part"
    end
    next [201, { "x-of" => "another" }, body] if env["PATH_INFO"] == "/keep"

    begin
      $kept.call("late")
      [200, {}, ["sent"]]
    rescue IOError => error
      [200, {}, [error.message]]
    end
  end)
RUBY

# Where there is an error handler, a head is sent with the first part of its body.
HANDLER = { hooks: "lowlevel_error_handler { |error| [500, {}, [error.message]] }", hooks_kind: "puma",
            hooks_names: "lowlevel_error_handler" }.freeze

[{}, HANDLER].each do |options|
  Front.run(KEPT, **options) do |front|
    worker = front.fork
    Harness.check("a block that is called after the end of its body sends nothing to the next client") do
      Harness.same("part", worker.text("/keep"))
      answer = worker.get("/late")
      Harness.same([200, [], "the stream is closed for writing"], [answer.status, answer.headers, answer.body])
    end
  end
end

Front.run(IN_FILE) do |front|
  worker = front.fork
  Harness.check("a body in a file") do
    File.open(front.file("body", "abcdef\ngh"), "rb") do |file|
      file.seek(5)
      # As the body of the answer it is a file without a path that the front could open.
      worker.ask("/echo", method: "POST", how: 2, body: [9].pack("Q>"))
      front.accept(FoolsGold::Frames::BODY_ROLE).send_io(file)
      Harness.same("abcdef\ngh", worker.answers[0..-2].map(&:body).join)
      worker.ask("/", method: "POST", how: 2, body: [9].pack("Q>"))
      front.accept(FoolsGold::Frames::BODY_ROLE).send_io(file)
      Harness.same('["abc", "def\n", "g", 0, 9, false]', worker.answer.body)
    end
  end
end

# Accepts the connection of a worker for direct writes.
def direct(front)
  front.accept(FoolsGold::Frames::DIRECT_ROLE).tap { |io| io.write("\x01") }
end

# The report of a worker on how much it has written.
def written(direct)
  Timeout.timeout(Front::DEADLINE) { direct.read(8) }.unpack1("Q>")
end

# The frames of a body that come after its MEMORY.
def rest_of(worker, released)
  worker.release(released)
  worker.answers.map(&:kind)
end

# Sends the worker a socket to write to, and returns the client's end of it.
def client(direct)
  ours, theirs = UNIXSocket.pair
  direct.send_io(ours)
  ours.close
  theirs
end

Front.run("require 'timeout'\n#{LONG}", memory: "yes", direct: "yes") do |front|
  f = FoolsGold::Frames
  worker = front.fork
  long = "long " * 300_000
  # Asks for a body, up to the offer of its string.
  offered = ->(path = "/", **more) { worker.get(path, **more) && worker.frame }
  Harness.check("a long string is written to a client that takes it") do
    # On a busy machine the client may not keep up: one attempt must go well.
    is_whole = (1..20).any? do
      worker.get("/")
      @direct ||= direct(front)
      Harness.same([1_500_000, 1], worker.frame.last.unpack("Q>Q>N").drop(1))
      theirs = client(@direct)
      reader = Thread.new { theirs.read }
      count = written(@direct)
      Harness.same(true, reader.value == long.byteslice(0, count))
      rest_of(worker, 1_500_000) if count < 1_500_000
      count == 1_500_000
    end
    Harness.same(true, is_whole)
    Harness.same(f::END_OF_BODY, worker.answer.kind) # Without a RELEASE.
  end
  Harness.check("of a string that a client does not take, it is said how much is written") do
    offered.call
    theirs = client(@direct)
    count = written(@direct)
    Harness.same(true, count.positive? && count < 1_500_000)
    Harness.same(true, theirs.read == long.byteslice(0, count))
    Harness.same([f::END_OF_BODY], rest_of(worker, 1_500_000))
  end
  Harness.check("a client that has gone is no error") do
    offered.call
    ours, theirs = UNIXSocket.pair
    theirs.close
    @direct.send_io(ours)
    ours.close
    Harness.same(0, written(@direct))
    Harness.same([f::END_OF_BODY], rest_of(worker, 1_500_000))
  end
  Harness.check("where the front declines, it reads the string") do
    offered.call
    @direct.write("\x01")
    Harness.same([f::END_OF_BODY], rest_of(worker, 1_500_000))
  end
  Harness.check("of a socket for which a worker has no room among its files, nothing is said to be written") do
    offered.call("/full")
    theirs = client(@direct)
    Harness.same(0, written(@direct))
    Harness.same("", theirs.read)
    Harness.same([f::END_OF_BODY], rest_of(worker, 1_500_000))
  end
  Harness.check("an exception during the wait for a client ends the connection, and the next string has another") do
    offered.call("/late")
    Harness.same(nil, Timeout.timeout(Front::DEADLINE) { @direct.read(1) })
    Harness.same([f::FAULT], rest_of(worker, 1_500_000))
    worker.get("/")
    direct = direct(front)
    Harness.same([1_500_000, 2], worker.frame.last.unpack("Q>Q>N").drop(1))
    direct.write("\x01")
    Harness.same([f::END_OF_BODY], rest_of(worker, 1_500_000))
    @direct = direct
  end
  # The client takes 8 MB and no more, so the worker waits for it when the application's timer goes off.
  Harness.check("a system's error that a timer raises in the application is not taken for the end of the client") do
    # On a busy machine the client may be too slow: one attempt must go well.
    is_late = (1..20).any? do |attempt|
      name = File.join(front.folder, "late-#{attempt}")
      offered.call("/errno", query: name)
      theirs = client(@direct)
      reader = Thread.new do
        theirs.read(8_000_000)
        File.write(name, "")
      end
      count = written(@direct) # From there the front would go on.
      reader.join
      Harness.same([f::FAULT], rest_of(worker, 12_000_000))
      count.between?(8_000_000, 11_999_999)
    end
    Harness.same(true, is_late)
  end
  Harness.check("an exception before the offer of a string is sent ends the connection, too") do
    worker.ask("/clogged", seq: worker.number)
    # The front reads nothing of the answer, and the offer waits behind what fills the connection of the slot.
    Harness.same(nil, Timeout.timeout(Front::DEADLINE) { @direct.read(1) })
    kinds = []
    until kinds.last == f::FAULT
      kinds << worker.frame.first
      worker.release(1_500_000) if kinds.last == f::MEMORY
    end
    Harness.same(true, kinds.include?(f::MEMORY))
  end
  Harness.check("without an accepted connection the string is lent as before") do
    other = front.fork(2)
    other.get("/")
    front.accept(f::DIRECT_ROLE).close
    Harness.same([1_500_000, 0], other.frame.last.unpack("Q>Q>N").drop(1))
    Harness.same([f::END_OF_BODY], rest_of(other, 1_500_000))
  end
end
