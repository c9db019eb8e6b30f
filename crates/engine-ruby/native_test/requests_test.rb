# frozen_string_literal: true

# A native slot makes the same environments as a plain one.

require "delegate"
require_relative "support"

SHAPE = ["REQUEST_METHOD", "c", "GET", "PATH_INFO", "v", "HTTP_USER_AGENT", "v", "SCRIPT_NAME", "c", "",
         "HTTP_X", "v"].freeze

# Returns the comparable part of an environment.
def comparable(env)
  env.reject { |key, _| %w[rack.hijack rack.early_hints rack.errors].include?(key) }
     .map { |key, value| [key, value.is_a?(StringIO) ? value.read : value, value.is_a?(String) && value.encoding] }
     .sort_by(&:first)
end

def environments(**options)
  Pair.each(**options) do |pair|
    yield pair
    env = pair.slot.next_request
    comparable(env)
  end
end

Harness.check("several values, empty ones, one value, no value") do
  [[SHAPE, "/a\0agent\0\xFF\xFE".b], [SHAPE, "\0\0"], [["A", "v"], ""], [["A", "v"], "x"],
   [%w[A c x], ""]].each do |shape, values|
    plain, native = environments do |pair|
      pair.shape(7, *shape)
      pair.request(1, 7, values)
    end
    Harness.same(plain, native)
  end
end

Harness.check("a request without shape") do
  native = Pair.new
  ["A\0b\0HTTP_ODD-KEY\0\0", "A\0b\0HTTP_ODD-KEY\0"].each do |values|
    native.request(1, 0, values)
    env = native.slot.next_request
    Harness.same(["b", "", FoolsGold::Input::EMPTY], env.values_at("A", "HTTP_ODD-KEY", "rack.input"))
  end
end

Harness.check("the time in which a body arrived is a number, with a shape and without") do
  wait = "puma.request_body_wait"
  found = Pair.each do |pair|
    pair.shape(1, "A", "v", wait, "v")
    pair.request(1, 1, "b\x0012.5", "body")
    pair.request(2, 0, "A\0b\0#{wait}\x007.25\0", "body")
    Array.new(2) { pair.slot.next_request.values_at("A", wait) }
  end
  Harness.same([[["b", 12.5], ["b", 7.25]]] * 2, found)
end

Harness.check("what belongs to one request is new for each") do
  kept = Pair.each do |pair|
    environments = [4, 5].map do |seq|
      pair.request(seq, 0, "A\0b\0")
      pair.slot.next_request
    end
    environments.flat_map do |env|
      env.values_at("rack.hijack", "rack.early_hints").map { |callable| callable.instance_variable_get(:@seq) }
    end
  end
  Harness.same([[4, 4, 5, 5]] * 2, kept)
end

Harness.check("early hints that no frame could carry are refused, and those in the buffer are no answer") do
  Pair.each do |pair|
    pair.request(1, 0, "A\0b\0")
    hints = pair.slot.next_request["rack.early_hints"]
    refused = Harness.raised(ArgumentError) { hints.call("link" => "x" * 2_000_000) }
    Harness.match(/\Aearly hints have 2000\d+ bytes, more than 524288\z/, refused)
    pair.slot.add(FoolsGold::Frames::HINTS, "x")
    Harness.same(false, pair.slot.answered?)
    pair.slot.answer(200, { "a" => "b" }, ["x"])
    Harness.same(true, pair.slot.answered?)
  end
end

# A socket whose reads are followed, before they return, by an exception of another thread.
class Late < SimpleDelegator
  %i[recv_nonblock readpartial].each do |name|
    define_method(name) do |*arguments, **options|
      found = super(*arguments, **options)
      here = Thread.current
      Thread.new { here.raise(IndexError, "late") }.join if found.is_a?(String)
      found
    end
  end
end

Harness.check("an exception of another thread loses no request that was read") do
  pair = Pair.new(FoolsGold::Slot)
  pair.slot.instance_variable_set(:@io, Late.new(pair.slot.instance_variable_get(:@io)))
  pair.request(1, 0, "A\0b\0")
  Harness.same("late", Harness.raised(IndexError) { pair.slot.next_request })
  Harness.same("b", pair.slot.next_request["A"])
end

Harness.check("a body, in pieces") do
  plain, native = environments do |pair|
    pair.shape(1, *SHAPE)
    frame = Pair.frame(3, 1, "/\0\0", "b" * 150_000)
    Thread.new { frame.scan(/.{1,30000}/m) { |piece| pair.front.write(piece) } }
  end
  Harness.same(plain, native)
end

Harness.check("the state of a request") do
  pair = Pair.new
  pair.shape(1, *SHAPE)
  2.times { |seq| pair.request(seq + 4, 1, "/\0a\0b") }
  first = pair.slot.next_request
  Harness.same([4, first, FoolsGold::Input::EMPTY, nil],
               %i[seq environment input taken].map { |name| pair.slot.public_send(name) })
  Harness.same([[], []], first.values_at("rack.after_reply", "rack.response_finished"))
  second = pair.slot.next_request
  Harness.same([5, false], [pair.slot.seq, second.equal?(first)])
  Harness.same(false, second["rack.after_reply"].equal?(first["rack.after_reply"]))
  second["PATH_INFO"] << "changed"
  Harness.same(["/", true], [first["PATH_INFO"], first["REQUEST_METHOD"].frozen?])
  pair.slot.cancel(5)
  Harness.same(true, pair.slot.gone?)
end

Harness.check("a withdrawn request is not run") do
  answers = Pair.each do |pair|
    pair.shape(1, "A", "v")
    2.times { |seq| pair.request(seq, 1, "a") }
    pair.slot.cancel(0)
    pair.slot.next_request
    [pair.slot.seq, pair.written.sub(/\n.*/m, "")]
  end
  Harness.same(1, answers[0][0])
  Harness.same(answers[0][1].byteslice(4, 60), answers[1][1].byteslice(4, 60))
end

Harness.check("recorded requests") do
  text = File.readlines(File.join(__dir__, "../wire/requests.hex")).reject { |line| line.start_with?("#") }.join
  plain, native = Pair.each do |pair|
    pair.front.write([text.delete("\n")].pack("H*"))
    pair.close
    all = []
    while (env = pair.slot.next_request)
      all << comparable(env)
    end
    all
  end
  Harness.same(plain, native)
  Harness.same(true, native.size > 1)
end

Harness.check("other frames are refused") do
  frame = Pair::F.method(:frame)
  { frame.call(21, "") => /too short/, frame.call(21, [1, 9, 0, 0].pack("NnCN")) => /not defined/,
    frame.call(21, [1, 0, 0, 9].pack("NnCN")) => /longer than it/,
    frame.call(21, [1, 0, 3, 0].pack("NnCN")) => /kind 3/,
    frame.call(1, "") => /kind 1 on a slot/, "\0\0\0\0\0" => /0 bytes/, "\xFF\xFF\xFF\xFF\0".b => /4294967295 bytes/,
    frame.call(20, "") => /no number/, frame.call(20, "\0\0") => /shape 0/,
    frame.call(20, "\0\1A") => /within a string/,
    frame.call(20, "\0\1\0v\0") => /not of A-Z/, frame.call(20, "\0\1A B\0v\0") => /not of A-Z/,
    frame.call(20, "\0\1A\0x\0") => /neither v nor c/, frame.call(20, "\0\1rack.input\0v\0") => /rack.input/,
    frame.call(20, "\0\1A\0v\0") + Pair.frame(1, 1, "a\0b") => /1 values/,
    frame.call(20, "\0\1A\0v\0B\0v\0") + Pair.frame(1, 1, "a") => /2 values/,
    frame.call(20, "\0\1") + Pair.frame(1, 1, "a") => /has none/,
    Pair.frame(1, 0, "A") => /without a value/ }.each do |bytes, message|
    pair = Pair.new
    pair.front.write(bytes)
    why = Harness.raised(FoolsGold::ProtocolError) { pair.slot.next_request }
    Harness.match(message, why || raise("#{bytes.inspect} was accepted"))
  end
end
