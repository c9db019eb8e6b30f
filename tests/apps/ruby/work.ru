# frozen_string_literal: true

# Requests that wait, compute, kill their worker or refuse to end.

require_relative "common"

def query(env)
  env["QUERY_STRING"]
end

use Linted
# Lint hides that a body is an array. With its length the answer still goes out in one piece, so that it either has not
# begun or is complete when a worker dies.
use Rack::ContentLength
run paths(
  "/" => ->(_) { text("gold") },
  "/pid" => ->(_) { text(Process.pid) },
  # A child that has all that the worker has, also its connections.
  "/fork" => ->(_) { text(Process.fork { sleep 60 }) },
  "/noted" => lambda do |env|
    note(query(env))
    text("noted")
  end,
  # Notes that it runs, and runs until the test has made the file that the query names.
  "/wait" => lambda do |env|
    note("runs #{query(env)}")
    wait_for(query(env))
    text("waited")
  end,
  # The same, and needs a processor all the time.
  "/compute" => lambda do |env|
    note("computes #{query(env)}")
    nil until File.exist?(query(env))
    text("computed")
  end,
  "/short" => lambda do |_|
    sleep 0.002
    text("short")
  end,
  "/poison" => lambda do |_|
    note("poison")
    Process.kill(:KILL, Process.pid)
    sleep
  end,
  "/sleep" => lambda do |_|
    note("sleeps")
    sleep
  end,
  "/ensure" => lambda do |_|
    begin
      sleep
    rescue StandardError
      note("rescued as a StandardError")
    ensure
      note("ensured")
    end
    text("never")
  end,
  "/stubborn" => lambda do |_|
    note("stubborn")
    begin
      sleep
    rescue Exception # What a stubborn application does.
      retry
    end
  end,
  "/environment" => lambda do |_|
    text(%w[RACK_ENV APP_ENV RAILS_ENV FOOLS_GOLD_WIRE FOOLS_GOLD_TOKEN].map { |name| ENV[name].inspect }.join(" "))
  end,
  "/title" => ->(_) { text("#{$PROGRAM_NAME} #{Dir.pwd} #{__FILE__}") },
  "/threads" => ->(env) { text(env["rack.multithread"]) }
)
