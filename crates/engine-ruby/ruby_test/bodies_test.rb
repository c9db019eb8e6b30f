# frozen_string_literal: true

# Request bodies that the front keeps in a file.

IN_FILE = <<~RUBY
  run(lambda do |env|
    input = env["rack.input"]
    [200, {}, [[input.read(3), input.gets, input.read(1), input.rewind, input.read.size].inspect]]
  end)
RUBY

Front.run(IN_FILE) do |front|
  worker = front.fork
  Harness.check("a body in a file") do
    File.open(front.file("body", "abcdef\ngh"), "rb") do |file|
      file.seek(5)
      worker.ask("/", method: "POST", how: 2, body: [9].pack("Q>"))
      io = front.accept(FoolsGold::Frames::BODY_ROLE)
      io.send_io(file)
      Harness.same('["abc", "def\n", "g", 0, 9]', worker.answer.body)
    end
  end
end
