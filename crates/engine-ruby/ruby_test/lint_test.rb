# frozen_string_literal: true

# The environment and the answers pass Rack::Lint of the installed Rack.

LINTED = <<~'RUBY'
  use Rack::Lint
  run(lambda do |env|
    text = { "content-type" => "text/plain" }
    case env["PATH_INFO"]
    when "/each" then [200, text, %w[a b].each_entry]
    when "/input" then [200, text, [env["rack.input"].read.to_s + env["rack.input"].gets.inspect]]
    when "/hijack"
      env["rack.hijack"].call.close
      [200, text, []]
    else [200, text, ["x"]]
    end
  end)
RUBY

Front.run(LINTED) do |front|
  worker = front.fork
  Harness.check("Lint, plain") { Harness.same("x", worker.text("/")) }
  Harness.check("Lint, input") do
    Harness.same("nil", worker.text("/input"))
    Harness.same("abcnil", worker.text("/input", method: "POST", body: "abc"))
  end
  Harness.check("Lint, each") do
    head = worker.get("/each")
    Harness.same(FoolsGold::Frames::MORE, head.flags || head.body)
    Harness.same(%w[a b] + ["\x01"], Array.new(3) { worker.answer.body })
  end
  Harness.check("Lint, hijack") do
    worker.ask("/hijack")
    front.accept(FoolsGold::Frames::FULL_ROLE).write("\x01")
    answer = worker.answer
    Harness.same(FoolsGold::Frames::TAKEN, answer.flags || answer.body)
  end
end
