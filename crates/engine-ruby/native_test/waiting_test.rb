# frozen_string_literal: true

# A native slot that waits lets other threads run, and can be interrupted like any Ruby code.

require_relative "support"

# Starts a thread that waits for a request.
def waiting(pair)
  thread = Thread.new do
    Thread.current.report_on_exception = false
    pair.slot.next_request
  end
  Harness.eventually("the thread waits") { thread.status == "sleep" }
  thread
end

[1, 2].each do |threads|
  Harness.check("Thread#raise, and then a request (#{threads} threads)") do
    pair = Pair.new(threads: threads)
    thread = waiting(pair)
    thread.raise(IOError, "enough")
    Harness.same("enough", Harness.raised(IOError) { thread.join(10) })
    thread = waiting(pair)
    pair.request(1, 0, "A\0b")
    Harness.same("b", thread.value["A"])
  end

  Harness.check("Thread#kill (#{threads} threads)") do
    thread = waiting(Pair.new(threads: threads))
    thread.kill
    Harness.same(thread, thread.join(10))
  end
end

Harness.check("close_read while it waits") do
  pair = Pair.new
  thread = waiting(pair)
  pair.slot.close_read
  Harness.same(nil, thread.value)
end

Harness.check("a process ends while it waits") do
  pair = Pair.new
  pid = fork do
    Thread.new { pair.slot.next_request }
    sleep 0.05
    exit!(0) if Thread.list.size < 2
    exit
  end
  Harness.eventually("the process ends") { Process.wait(pid, Process::WNOHANG) }
end

Harness.check("a signal handler runs while it waits") do
  pair = Pair.new
  reader, ring = IO.pipe
  pid = fork do
    trap("TERM") { pair.slot.close_read }
    ring.write(".")
    exit!(pair.slot.next_request.nil? ? 7 : 8)
  end
  reader.read(1)
  Process.kill("TERM", pid)
  status = nil
  Harness.eventually("the process ends") { _, status = Process.wait2(pid, Process::WNOHANG) }
  Harness.same(7, status.exitstatus)
end

Harness.check("Thread#raise while it writes loses nothing") do
  pair = Pair.new
  part = "x" * 500_000
  writer = Thread.new do
    Thread.current.report_on_exception = false
    pair.slot.answer(200, {}, [part])
    pair.slot.flush
  end
  Harness.eventually("the connection is full") { writer.status == "sleep" }
  writer.raise(IOError, "enough")
  Harness.eventually("it stops") { !writer.alive? }
  reader = Thread.new { pair.front.read(18 + part.bytesize) }
  pair.slot.flush
  Harness.same(18 + part.bytesize, reader.value.bytesize)
end
