# frozen_string_literal: true

# What careless applications do: blocks after the answer that hang or exit, bodies that give nothing, broken exceptions.

require_relative "common"

# An exception that can tell nothing of itself.
class Mute < StandardError
  def backtrace
    raise "no backtrace"
  end
end

# A body that is told, by an exception, when its client has gone.
def told(name)
  Body.new(name) do |out|
    yield out
  rescue SystemCallError => error
    note("#{name} #{error.class}")
    raise
  end
end

def ended(env, &block)
  env["rack.after_reply"] << block
  text("answered")
end

run paths(
  "/" => ->(_) { text("gold") },
  "/pid" => ->(_) { text(Process.pid) },
  "/wait" => lambda do |env|
    note("runs #{env['QUERY_STRING']}")
    wait_for(env["QUERY_STRING"])
    text("waited")
  end,
  "/after-slow" => ->(env) { ended(env) { wait_for("go"); note("after") } },
  "/finished-slow" => lambda do |env|
    env["rack.response_finished"] << ->(*) { wait_for("finish"); note("finished") }
    raise "on purpose"
  end,
  "/after-exit" => ->(env) { ended(env) { exit } },
  "/after-raise" => ->(env) { ended(env) { raise NotImplementedError, "after the answer" } },
  "/after-thread-exit" => ->(env) { ended(env) { Thread.exit } },
  "/thread-exit" => ->(_) { Thread.exit },
  "/thread-exit-late" => ->(_) { [200, {}, Body.new("cut") { |out| out.call("part"); wait_for("go"); Thread.exit }] },
  "/mute" => ->(_) { raise Mute, "speechless" },
  "/hints" => lambda do |env|
    begin
      env["rack.early_hints"].call((1..1001).to_h { |number| ["x-#{number}", "y"] })
      text("sent")
    rescue ArgumentError => error
      text(error.message)
    end
  end,
  "/empty" => ->(_) { [200, {}, told("empty") { |out| loop { out.call("") } }] },
  "/empty-length" => ->(_) { [200, { "content-length" => "2" }, told("gathered") { |out| loop { out.call("") } }] },
  "/mum" => ->(_) { [200, {}, Body.new("mum") { |_| sleep }] },
  "/late" => lambda do |_|
    note("runs late")
    wait_for("go")
    [200, {}, told("late") { |out| 10.times { out.call("x") } }]
  end,
  "/status" => ->(env) { [env["QUERY_STRING"].to_i, {}, ["x"]] },
  "/nul" => ->(_) { [200, { "x-good" => "y", "x-odd" => "a\0b" }, ["x"]] },
  "/nul-list" => ->(_) { [200, { "x-odd-list" => %W[a b\0] }, ["x"]] },
  "/nul-name" => ->(_) { [200, { "x-odd\0name" => "a" }, ["x"]] },
  "/bytes" => ->(_) { [200, { "x-bytes" => "\xFF\xFE".b, "x-broken" => "\xFF" }, ["x"]] }
)
