# frozen_string_literal: true

# Request bodies that the front keeps in a file.

IN_FILE = <<~RUBY
  run(lambda do |env|
    input = env["rack.input"]
    next [200, {}, input] if env["PATH_INFO"] == "/echo"
    [200, {}, [[input.read(3), input.gets, input.read(1), input.rewind, input.read.size, input.path].inspect]]
  end)
RUBY

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
      Harness.same('["abc", "def\n", "g", 0, 9, nil]', worker.answer.body)
    end
  end
end
