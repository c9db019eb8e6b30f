# frozen_string_literal: true

# What happens around a request and beside it: exceptions that are hard to describe, bodies that close slowly, hooks
# that take long, exceptions that come between two requests.

EDGES = <<~'RUBY'
  class Mute < StandardError
    def message; raise(NotImplementedError, "no message"); end
  end

  Slow = Struct.new(:parts, :release) do
    def each(&block); parts.each(&block); end
    def close
      sleep 0.01 until File.exist?(release)
      $closed = true
    end
  end

  # An exception that comes when a frame of this kind has just been added.
  module Interrupted
    def add(kind, payload)
      super
      return unless $comes && $comes[0] == kind

      error = $comes[1]
      $comes = nil
      Thread.current.raise(error)
    end
  end

  # A time-out that comes when the application has just raised an exception of its own.
  module Late
    def own_process?
      return super unless $late

      $late = false
      Thread.current.raise(FoolsGold::RequestTimeout, "late")
    end
  end

  # Counts the reads after which what was read before is in another String.
  module Counted
    def fill
      before = @in
      super.tap { $copies += 1 unless before.equal?(@in) }
    end
  end

  run(lambda do |env|
    case env["PATH_INFO"]
    when "/count"
      $copies = 0
      FoolsGold::Slot.prepend(Counted)
      [200, {}, ["x"]]
    when "/copies" then [200, {}, [$copies.to_s]]
    when "/times-out", "/stray"
      FoolsGold::Slot.prepend(Interrupted)
      FoolsGold::NativeSlot.prepend(Interrupted) if defined?(FoolsGold::NativeSlot)
      is_stray = env["PATH_INFO"] == "/stray"
      $comes = is_stray ? [FoolsGold::Frames::END_OF_BODY, IndexError] :
        [FoolsGold::Frames::ANSWER, FoolsGold::RequestTimeout]
      [200, {}, is_stray ? %w[a b].each : %w[a b]]
    when "/raise-late"
      FoolsGold::Slot.prepend(Late)
      $late = true
      raise "first"
    when "/caf\xC3\xA9".b, "/raise" then raise "gr\u00F6\u00DFe"
    when "/mute" then raise Mute
    when "/reply"
      env["rack.after_reply"] = [-> { raise "gr\u00F6\u00DFe" }]
      [200, {}, ["x"]]
    when "/slow" then [200, {}, Slow.new(%w[a b], env["QUERY_STRING"])]
    when "/parts" then [200, { "content-length" => "2" }, Slow.new(%w[a b], env["QUERY_STRING"])]
    when "/closed" then [200, {}, [$closed.inspect]]
    when "/late"
      thread = Thread.current
      Thread.new do
        sleep 0.01 until File.exist?(env["QUERY_STRING"])
        thread.raise(ArgumentError, "late")
        File.write("#{env["QUERY_STRING"]}.done", "")
      end
      [200, {}, ["x"]]
    when "/dies-later", "/dies"
      Thread.new do
        Thread.current.report_on_exception = false
        Thread.current.abort_on_exception = true
        sleep 0.01 until File.exist?(env["QUERY_STRING"])
        raise IOError, "dead"
      end
      sleep if env["PATH_INFO"] == "/dies"
      [200, {}, ["x"]]
    when "/joins" then Thread.new { Thread.current.report_on_exception = false; raise IOError, "joined" }.join
    when "/wait"
      sleep 0.01 until File.exist?(env["QUERY_STRING"])
      [200, {}, ["waited"]]
    when "/body" then [200, {}, [env["rack.input"].read]]
    else [200, {}, ["x"]]
    end
  end)
RUBY

HOOK = 'on_request_timeout { sleep 0.01 until File.exist?(File.join(__dir__, "hook")) }'

module EdgesTest
  F = FoolsGold::Frames
  H = Harness

  def self.run(front, worker)
    described(front, worker)
    closed_after(front, worker)
    at_once(front, worker)
    between(front, worker)
    aborted(front, worker)
    timed_out(worker)
    without_body(front, worker)
    long(worker)
  end

  def self.described(front, worker)
    H.check("an exception of one encoding for a path of another") do
      H.match(/\ARuntimeError\0gr/, worker.get("/caf\xC3\xA9".b).body)
    end
    H.check("an exception whose message raises") do
      H.match(/\AMute\0\(its message cannot be had\)/, worker.get("/mute").body)
      H.same("x", worker.get("/").body)
    end
    H.check("a callback after the answer that raises, for such a path") do
      H.same("x", worker.get("/reply").body)
      H.eventually("the log") { front.await(worker.control, F::LOG)[1].include?("failed after its answer") }
      H.same("x", worker.get("/").body)
    end
  end

  def self.closed_after(front, worker)
    %w[/slow /parts].each_with_index do |path, at|
      H.check("the client of #{path} does not wait for the body to be closed") do
        release = File.join(front.folder, "close#{at}")
        worker.ask(path, query: release)
        answer = worker.answer
        answer = worker.answer while answer.kind != F::END_OF_BODY && answer.flags != F::LATER
        H.same(path == "/slow" ? "\x01" : "ab", answer.body)
        File.write(release, "")
        H.same([F::FREE, ""], worker.frame)
        H.same("true", worker.get("/closed").body)
      end
    end
  end

  def self.at_once(front, worker)
    H.check("orders are read while a hook runs") do
      release = File.join(front.folder, "released")
      worker.ask("/wait", seq: 70, query: release)
      sleep 0.05
      worker.order(F::DUMP, 0, 70)
      front.await(worker.control, F::TRACE)
      H.same([F::PING, ""], worker.ping)
      File.write(File.join(front.folder, "hook"), "")
      File.write(release, "")
      H.same("waited", worker.answer.body)
    end
    H.check("an answer does not wait for the request behind it when that is withdrawn too late") do
      release = File.join(front.folder, "behind")
      both = %w[/ /wait].each_with_index.map { |path, at| worker.request(path, seq: 80 + at, query: release) }
      worker.slots[0].write(both.join)
      sleep 0.05
      worker.order(F::CANCEL, 0, 81)
      H.same([80, "x"], worker.answer.to_a.values_at(1, -1))
      File.write(release, "")
      H.same(81, worker.answer.seq)
    end
  end

  def self.between(front, worker)
    H.check("an exception that comes too late for its request ends nothing") do
      release = File.join(front.folder, "late")
      H.same("x", worker.get("/late", query: release).body)
      File.write(release, "")
      H.eventually("it was raised") { File.exist?("#{release}.done") }
      H.eventually("the log") { front.await(worker.control, F::LOG)[1].include?("between two requests") }
      H.same("x", worker.get("/").body)
    end
  end

  # The exception comes to the main thread, which in Puma only waits.
  def self.aborted(front, worker)
    release = File.join(front.folder, "dies")
    H.check("between two requests, that of a thread with abort_on_exception has the worker replaced") do
      H.same("x", worker.get("/dies-later", query: release).body)
      File.write(release, "")
      H.same([F::ENDING, "\x01".b], front.await(worker.control, F::ENDING))
      H.match(/worker 1 is replaced, since its thread .* abort_on_exception: dead \(IOError\)/, front.logs.last)
      H.same("x", worker.get("/").body)
    end
    H.check("in a request, too, which fails") do
      H.match(/\AIOError\0dead\0/, worker.get("/dies", query: release).body)
      H.same([F::ENDING, "\x01".b], front.await(worker.control, F::ENDING))
    end
    H.check("one that a request gets by Thread#join ends that request only") do
      H.match(/\AIOError\0joined\0/, worker.get("/joins").body)
      H.same([F::PING, ""], worker.ping)
    end
  end

  def self.timed_out(worker)
    H.check("a time-out that comes just behind an answer is no second answer") do
      H.same("ab", worker.get("/times-out").body)
      H.same([F::ANSWER, "x"], worker.get("/").to_a.values_at(0, -1))
    end
    H.check("a time-out that comes just behind an exception of the application ends its request only") do
      H.match(/\ARuntimeError\0first\0/, worker.get("/raise-late").body)
      H.same("x", worker.get("/").body)
    end
    H.check("an exception that comes just behind the end of a body is no second end") do
      H.same("ab", worker.text("/stray"))
      H.same([F::ANSWER, "x"], worker.get("/").to_a.values_at(0, -1))
    end
  end

  def self.long(worker)
    H.check("a long body is read without a copy of it at each read") do
      worker.get("/count")
      H.same(2_000_000, worker.text("/body", method: "POST", body: "b" * 2_000_000).bytesize)
      copies = worker.get("/copies").body.to_i
      H.same(true, copies < 5) # Of at least thirty reads.
    end
  end

  def self.without_body(front, worker)
    H.check("a body that cannot be had ends its request only") do
      worker.ask("/body", seq: 90, how: 2, body: [3].pack("Q>"))
      front.accept(F::BODY_ROLE).close
      H.same([F::FAULT, 90], worker.answer.to_a.first(2))
      H.same("x", worker.get("/").body)
    end
    H.check("a withdrawn request whose body is in a file has one answer") do
      release = File.join(front.folder, "withdrawn")
      behind = worker.request("/body", seq: 92, how: 2, body: [3].pack("Q>"))
      worker.slots[0].write(worker.request("/wait", seq: 91, query: release) + behind)
      worker.order(F::CANCEL, 0, 92)
      worker.ping
      File.write(release, "")
      H.same([91, "waited"], worker.answer.to_a.values_at(1, -1))
      H.same([F::FAULT, 92], worker.answer.to_a.first(2))
      H.same([F::ANSWER, "x"], worker.get("/").to_a.values_at(0, -1))
    end
  end
end

# On JRuby, whose threads run in parallel, only a slot's own thread writes its answers: one of these tests would fail.
if RUBY_ENGINE == "ruby"
  Front.run(EDGES, hooks: HOOK) { |front| EdgesTest.run(front, front.fork) }
end
