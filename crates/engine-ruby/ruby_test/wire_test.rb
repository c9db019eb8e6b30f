# frozen_string_literal: true

# The recorded bytes of the protocol (wire/*.hex), on which the Rust side is tested too.

%w[errors frames wire shapes environment hijack headers hints].each { |name| require_relative "../ruby/#{name}" }

# Reads a recording.
module Recorded
  def self.frames(name)
    text = File.readlines(File.join(__dir__, "..", "wire", name)).reject { |line| line.start_with?("#") }.join
    io = StringIO.new([text.delete("\n")].pack("H*"))
    frames = []
    while (frame = FoolsGold::Frames.read(io))
      frames << frame
    end
    frames
  end
end

require "stringio"

if RUBY_ENGINE == "ruby"
  Harness.check("while the queue of the front's socket is full, a connection waits for a place in it") do
    Dir.mktmpdir do |folder|
      path = File.join(folder, "wire")
      server = UNIXServer.new(path)
      server.listen(1)
      wire = FoolsGold::Wire.new(path, "secret")
      numbers = (0..7).to_a
      opening = numbers.map { |slot| Thread.new { wire.open(FoolsGold::Frames::SLOT_ROLE, 1, slot) } }
      # Each has tried by now.
      Harness.eventually("all wait") { opening.all? { |thread| thread.status != "run" } }
      ours = numbers.map { Timeout.timeout(Front::DEADLINE) { server.accept } }
      hellos = ours.map { |io| FoolsGold::Frames.read(io).last.unpack("CCNN") }
      Harness.same(numbers, hellos.map(&:last).sort)
      [*opening.map(&:value), *ours, server].each(&:close)
    end
  end
end

Harness.check("recorded requests become environments") do
  (kind, shape), *requests = Recorded.frames("requests.hex")
  Harness.same(FoolsGold::Frames::SHAPE, kind)
  setup = Hash.new("").merge!("threads" => "1", "software" => "test")
  shapes = FoolsGold::Shapes.new(FoolsGold::Environment.new(setup), Struct.new(:seq).new(0))
  shapes.define(shape)
  requests.each_with_index do |(_, payload), index|
    seq, number, how, size = payload.unpack("NnCN")
    Harness.same([index + 1, 1, 1, "body"], [seq, number, how, payload.byteslice(11 + size, 99)])
    env = shapes.makers[number].call(payload.byteslice(11, size), :input, [], [])
    wanted = { "REQUEST_METHOD" => "POST", "PATH_INFO" => "/a", "QUERY_STRING" => "b", "HTTP_HOST" => "example.org",
               "HTTP_ACCEPT" => "*/*", "SCRIPT_NAME" => "", "rack.url_scheme" => "http", "SERVER_PORT" => "80",
               "puma.request_body_wait" => 0.0 }
    Harness.same(wanted, env.slice(*wanted.keys))
  end
  env = shapes.makers[0].call("puma.request_body_wait\x0012.5\0A\0b\0", :input, [], [])
  Harness.same([12.5, "b"], env.values_at("puma.request_body_wait", "A"))
end
