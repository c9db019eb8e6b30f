# frozen_string_literal: true

# An application may change the variables that Ruby's own methods read, such as `$,`; and its threads may all end.

GLOBALS = <<~'RUBY'
  $VERBOSE = nil
  $, = ","
  $; = "x"
  $/ = nil
  $\ = "!"
  Encoding.default_external = Encoding::Shift_JIS
  Encoding.default_internal = Encoding::ISO_8859_1
  errors = $stderr
  run(lambda do |env|
    case env["PATH_INFO"]
    when "/capture"
      $stderr = StringIO.new
      [200, {}, ["captured"]]
    when "/errors"
      $stderr = errors
      [200, {}, [env["rack.errors"].equal?(errors).to_s]]
    when "/raise" then raise "fault"
    when "/long" then [200, { "a" => %w[b c] }, ["d" * 300_000, "e" * 300_000]]
    when "/each" then [200, {}, %w[a b].each]
    else [200, { "a" => "b", "c" => "d" }, %w[x y]]
    end
  end)
RUBY

module GlobalsTest
  F = FoolsGold::Frames
  H = Harness

  # Two paths that are not there, in folders that are named as those of this Ruby.
  def self.natives
    code = 'print [RUBY_ENGINE, RbConfig::CONFIG["ruby_version"], RUBY_PLATFORM].join("-")'
    ruby = IO.popen([*ENV.fetch("TEST_RUBY", "ruby").split, "-e", code], &:read)
    %w[one two].map { |name| "/nowhere/#{ruby}-#{name}/native.so" }.join("\n")
  end

  def self.answers(worker)
    H.check("answers do not depend on variables of Ruby that the application has changed") do
      shape = F.list(%w[REQUEST_METHOD v PATH_INFO v HTTP_HOST v SERVER_NAME c localhost])
      worker.slots[0].write(F.frame(F::SHAPE, [1, shape].pack("na*")))
      values = "GET\0/\0localhost"
      worker.slots[0].write(F.frame(F::REQUEST, [7, 1, 0, values.bytesize, values].pack("NnCNa*")))
      H.same("xy", worker.answer.body)
      H.same("xy", worker.get("/").body)
      H.match(/\ARuntimeError\0fault\0/, worker.get("/raise").body)
      H.same("d" * 300_000 + "e" * 300_000, worker.text("/long"))
      worker.ask("/each")
      H.same(["", "a", "b", ""], Array.new(4) { worker.answer.body })
    end
  end

  # A request of a new shape comes while another thread has its output to $stderr captured.
  def self.errors(worker)
    H.check("rack.errors is what $stderr was when the worker started, whatever is there when a shape is defined") do
      H.same("captured", worker.get("/capture").body)
      shape = F.list(%w[REQUEST_METHOD v PATH_INFO v HTTP_HOST v HTTP_A v SERVER_NAME c localhost])
      worker.slots[0].write(F.frame(F::SHAPE, [2, shape].pack("na*")))
      values = "GET\0/errors\0localhost\0a"
      worker.slots[0].write(F.frame(F::REQUEST, [8, 2, 0, values.bytesize, values].pack("NnCNa*")))
      H.same("true", worker.answer.body)
    end
  end

  def self.reports(front, worker)
    H.check("nor does the mold's report of a worker's end") do
      Process.kill("KILL", worker.pid)
      _, payload = front.await(front.mold, F::EXITED)
      H.same([1, worker.pid, -9], payload.unpack("NNl>"))
    end
  end

  # The exit status of a worker that ends by itself; its log is kept.
  def self.status(front, worker)
    _, payload = front.await(front.mold, F::EXITED)
    front.await(worker.control, nil)
    payload.unpack("NNl>").last
  end
end

Front.run(GLOBALS, threads: "2", native: GlobalsTest.natives) do |front|
  worker = front.fork
  GlobalsTest.answers(worker)
  GlobalsTest.errors(worker)
  Harness.check("nor does the list of native workers") do
    Harness.match(/\Aworker: plain Ruby.*such file -- [^\n]*-two.native.so\z/, front.logs.first)
  end
  GlobalsTest.reports(front, worker) if front.ready.last.include?("fork\0yes")
end

FAILING = <<~'RUBY'
  module Failing
    def next_request
      $fails ? eval("1 +") : super
    end
  end
  run(lambda do |env|
    FoolsGold::Slot.prepend(Failing)
    FoolsGold::NativeSlot.prepend(Failing) if defined?(FoolsGold::NativeSlot)
    $fails = true
    [200, {}, ["x"]]
  end)
RUBY

# From the first request on, all threads end as they begin, but for the main one.
ENDING = <<~'RUBY'
  FoolsGold.hooks.add(:before_thread_start) { Thread.exit if $ends }
  run(lambda do |_|
    $ends = true
    # One that has just been started, and waits for nothing yet, would end outside of the server's code.
    Thread.pass until (other = Thread.list.find { |thread| thread.name == "slot 1" })&.stop?
    other.kill
    [200, {}, ["x"]]
  end)
RUBY

if RUBY_ENGINE == "ruby"
  { "an error that is no StandardError" => [FAILING, /thread 0 failed: .*\(SyntaxError\)/m, "1"],
    "a thread that ends whenever it begins" => [ENDING, /10 threads in a row of slot 1 have ended/, "2"] }
    .each do |name, (app, log, threads)|
    Harness.check("#{name} ends the worker") do
      Front.run(app, threads: threads) do |front|
        worker = front.fork
        worker.ask("/")
        Harness.same(1, GlobalsTest.status(front, worker))
        Harness.match(log, front.logs.join("\n"))
      end
    end
  end
end
