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
  run(lambda do |env|
    text = env["PATH_INFO"] == "/short" ? "s" * 1_000_000 : "long " * 300_000
    body = Object.new
    body.define_singleton_method(:each) do |&block|
      Timeout.timeout(0.2) { block.call(text) } if env["PATH_INFO"] == "/late"
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
    kind, payload = Timeout.timeout(Front::DEADLINE) { FoolsGold::Frames.read(worker.slots[0]) }
    frames << [kind, kind == FoolsGold::Frames::MEMORY ? payload.unpack("Q>Q>").last : payload.bytesize]
    next unless kind == FoolsGold::Frames::MEMORY && (bytes = taken.shift)

    worker.control.write(FoolsGold::Frames.frame(FoolsGold::Frames::RELEASE, [0, bytes].pack("NQ>")))
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
    release = f.frame(f::RELEASE, [0, 1_500_000].pack("NQ>"))
    worker.control.write(release)
    Harness.same([[f::MEMORY, 1_500_000], [f::END_OF_BODY, 0]], lent(worker, "/", 1_500_000))
  end
  Harness.check("what the front cannot read is sent, and nothing is lent after that") do
    chunks = [[f::CHUNK, 524_288], [f::CHUNK, 524_288], [f::CHUNK, 451_423], [f::END_OF_BODY, 0]]
    Harness.same([[f::MEMORY, 1_500_000], *chunks], lent(worker, "/", 1))
    Harness.same([f::CHUNK, f::CHUNK, f::CHUNK, f::END_OF_BODY], lent(worker, "/").map(&:first))
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
      parts = [worker.answer]
      parts << worker.answer until parts.last.kind == FoolsGold::Frames::END_OF_BODY
      Harness.same("abcdef\ngh", parts[0..-2].map(&:body).join)
      worker.ask("/", method: "POST", how: 2, body: [9].pack("Q>"))
      front.accept(FoolsGold::Frames::BODY_ROLE).send_io(file)
      Harness.same('["abc", "def\n", "g", 0, 9, false]', worker.answer.body)
    end
  end
end
