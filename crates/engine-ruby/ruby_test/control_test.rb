# frozen_string_literal: true

# Orders to a worker while it serves.

require_relative "../ruby/control"

BUSY = <<~'RUBY'
  class Endless
    def each
      loop { yield "x" * 10 and sleep 0.005 }
    rescue Errno::EPIPE
      $ended = true
      raise
    end
    def close; $closed = true; end
  end
  run(lambda do |env|
    case env["PATH_INFO"]
    when "/sleep" then ($sleeps = true) && sleep
    when "/sleeps" then [200, {}, [$sleeps.inspect]]
    when "/stubborn"
      begin
        sleep
      rescue Exception
        [200, {}, ["stubborn"]]
      end
    when "/swallow" then begin; sleep; rescue; end
    when "/endless" then [200, {}, Endless.new]
    when "/after"
      env["rack.after_reply"] = [-> { $done = [:first] and sleep }, -> { $done << :second }]
      [200, {}, ["x"]]
    when "/close" then [200, {}, ["x"].dup.tap { |body| def body.close; ($done = [:closing]) && sleep; end }]
    when "/done" then [200, {}, [$done.inspect]]
    when "/ended" then [200, {}, [[$ended, $closed, $env].inspect]]
    when "/multithread" then [200, {}, [env["rack.multithread"].inspect]]
    else [200, {}, ["x"]]
    end
  end)
RUBY
SEEN = "on_request_timeout { |worker, env| $env = [worker, env['PATH_INFO']] }"

Front.run(BUSY, hooks: SEEN, threads: "2") do |front|
  frames = FoolsGold::Frames
  worker = front.fork
  Harness.check("two threads") do
    worker.ask("/sleep", slot: 0, seq: 5)
    Harness.eventually("it has begun") { worker.get("/sleeps", slot: 1).body == "true" }
  end
  Harness.check("DUMP") do
    worker.order(frames::DUMP, 0, 4)
    worker.order(frames::DUMP, 0, 5)
    _, payload = front.await(worker.control, frames::TRACE)
    id, first = frames.strings(payload)
    Harness.same("the-id", id)
    Harness.match(/config.ru/, first)
    _, payload = front.await(worker.control, frames::LOG)
    Harness.match(/request [^ ]+, GET .sleep has been running for 0.\d s\nthread slot 0:\n  .*config.ru/, payload)
    Harness.eventually("the hook") { worker.get("/ended", slot: 1).body.end_with?('[1, "/sleep"]]') }
  end
  Harness.check("PING, TITLE") do
    worker.control.write(frames.frame(frames::TITLE, "GET /sleep 1.0s"))
    Harness.same([frames::PING, ""], worker.ping)
    if File.exist?("/proc/#{worker.pid}/cmdline") && RUBY_ENGINE == "ruby"
      Harness.match(/\Afoolsgold: worker 1 \[test\] GET .sleep 1.0s/, File.read("/proc/#{worker.pid}/cmdline"))
    end
  end
  Harness.check("INTERRUPT") do
    worker.order(frames::INTERRUPT, 0, 4)
    worker.order(frames::INTERRUPT, 0, 5)
    answer = worker.answer
    Harness.same([frames::FAULT, 5], [answer.kind, answer.seq])
    Harness.match(/\AFoolsGold::RequestTimeout\0/, answer.body)
  end
  Harness.check("INTERRUPT that the application rescues") do
    worker.ask("/stubborn", seq: 6)
    sleep 0.05
    worker.order(frames::INTERRUPT, 0, 6)
    Harness.same("stubborn", worker.answer.body)
    worker.ask("/swallow", seq: 7)
    sleep 0.05
    worker.order(frames::INTERRUPT, 0, 7)
    Harness.same(frames::FAULT, worker.answer.kind)
    Harness.same("x", worker.get("/").body)
  end
  Harness.check("DUMP and INTERRUPT of the work after an answer") do
    [["/after", 11, "[:first, :second]"], ["/close", 12, "[:closing]"]].each do |path, seq, done|
      Harness.same(frames::LATER, worker.get(path, seq: seq).flags)
      Harness.eventually("it runs") { worker.get("/done", slot: 1).body.start_with?(done[0, 6]) }
      worker.order(frames::DUMP, 0, seq)
      Harness.match(/config.ru/, front.await(worker.control, frames::TRACE).last)
      worker.order(frames::INTERRUPT, 0, seq)
      Harness.same([frames::FREE, ""], worker.frame)
      Harness.same(done, worker.get("/done").body)
    end
  end
  Harness.check("CANCEL of a body that is being sent") do
    Harness.same(frames::MORE, worker.get("/endless", seq: 8).flags)
    worker.order(frames::CANCEL, 0, 8)
    Harness.match(/\AErrno::EPIPE/, worker.answers.last.body)
    Harness.match(/\A\[true, true/, worker.get("/ended").body)
  end
  Harness.check("CANCEL of a request before which the front reads no more") do
    taken = Queue.new
    slot = Object.new
    slot.define_singleton_method(:cancel) { |_seq| nil }
    slot.define_singleton_method(:flush) { taken.pop }
    control = FoolsGold::Control.new(nil, nil)
    Timeout.timeout(5) { control.send(:cancel, Struct.new(:slot, :running).new(slot, 12), 12) }
    taken << true
  end
  Harness.check("FLUSH between two requests, of which the second has begun for the front") do
    flushed = Queue.new
    slot = Object.new
    slot.define_singleton_method(:flush) { flushed << true }
    control = FoolsGold::Control.new(nil, nil)
    control.send(:flush_behind, Struct.new(:slot, :running).new(slot, nil), 12)
    Harness.same(true, Timeout.timeout(5) { flushed.pop })
  end
  Harness.check("CANCEL before the beginning") do
    worker.ask("/sleep", seq: 9)
    worker.ask("/", seq: 10)
    worker.order(frames::CANCEL, 0, 10)
    sleep 0.05
    worker.order(frames::INTERRUPT, 0, 9)
    Harness.same(9, worker.answer.seq)
    Harness.match(/\AFoolsGold::Cancelled/, worker.answer.body)
  end
  Harness.check("requests that were sent ahead, of which one is withdrawn") do
    worker.ask("/sleep", seq: 13)
    [14, 15].each { |seq| worker.ask("/", seq: seq, how: 128) }
    Harness.same(0, worker.withdraw(14))
    sleep 0.05
    worker.order(frames::INTERRUPT, 0, 13)
    answers = Array.new(3) { worker.answer }
    Harness.same([[frames::FAULT, 13], [frames::FAULT, 14], [frames::ANSWER, 15]],
                 answers.map { |answer| [answer.kind, answer.seq] })
    Harness.match(/\AFoolsGold::Cancelled/, answers[1].body)
    Harness.same(15, worker.withdraw(15))
  end
  Harness.check("FLUSH of an answer that a long request holds up") do
    worker.slots[0].write(worker.request("/", seq: 16) + worker.request("/sleep", seq: 17, how: 128))
    sleep 0.05
    worker.order(frames::FLUSH, 0, 16)
    Harness.same(16, worker.answer.seq)
    worker.order(frames::INTERRUPT, 0, 17)
    Harness.same(17, worker.answer.seq)
  end
end

Front.run(BUSY, threads: "1", max_threads: "3") do |front|
  Harness.check("GROW") do
    frames = FoolsGold::Frames
    worker = front.fork
    worker.ask("/sleep", slot: 0, seq: 5)
    worker.order(frames::GROW, 3)
    worker.slots.concat(Array.new(2) { front.accept(frames::SLOT_ROLE) })
    _, payload = front.await(worker.control, frames::LOG)
    Harness.match(/worker 1 has 3 threads now/, payload)
    Harness.same(%w[true true], [1, 2].map { |slot| worker.get("/multithread", slot: slot).body })
    told = front.logs.size
    worker.order(frames::GROW, 3) # The front may ask again while the threads are on their way.
    worker.ping
    Harness.same(told, front.logs.size)
    worker.order(frames::INTERRUPT, 0, 5)
    answer = worker.answer
    Harness.same([frames::FAULT, 5], [answer.kind, answer.seq])
    Harness.same("true", worker.get("/multithread").body)
    worker.order(frames::STOP)
    Harness.same([nil] * 3, [0, 1, 2].map { |slot| worker.frame(slot) })
  end
end

Front.run("module PG; end\n#{BUSY}", threads: "1", spares_databases: "yes") do |front|
  Harness.check("GROW of a worker with a client of a database") do
    worker = front.fork
    worker.order(FoolsGold::Frames::GROW, 3)
    _, payload = front.await(worker.control, FoolsGold::Frames::LOG)
    Harness.match(/stays with 1 thread, .*\(PG is loaded\).*--max-threads/, payload)
    told = front.logs.size
    worker.order(FoolsGold::Frames::GROW, 3)
    worker.ping
    Harness.same(told, front.logs.size) # Once is enough.
  end
end

# A collector as of Ruby 3.4, by which a major collection is always due.
COLLECTOR = <<~'RUBY'
  module GC
    def self.config(*)
      { rgengc_allow_full_mark: true }
    end

    def self.latest_gc_info(*)
      :newobj
    end

    def self.start(*, **)
      $majors = $majors.to_i + 1
    end
  end
  run ->(_) { [200, {}, [$majors.to_i.to_s]] }
RUBY

Front.run(COLLECTOR, oob_gc: "yes") do |front|
  Harness.check("a major collection comes at a heartbeat where there is no pause for it") do
    worker = front.fork
    before = worker.get("/").body.to_i
    [0, 1, 2].each do |majors|
      worker.ping
      Harness.eventually("#{majors} collections") { worker.get("/").body.to_i == before + majors }
    end
  end
end
