# frozen_string_literal: true

# Truncated, changed and random frames raise nothing but ProtocolError; can also be run under valgrind or a sanitizer.
# FUZZ_ROUNDS is the number of rounds, FUZZ_SEED repeats a run.

require_relative "support"

SEED = (ENV["FUZZ_SEED"] || Random.new_seed % 1_000_000).to_i
ROUNDS = (ENV["FUZZ_ROUNDS"] || 2000).to_i

def good_frames
  shape = Pair::F.frame(20, [1, Pair::F.list(%w[REQUEST_METHOD c GET PATH_INFO v HTTP_HOST v])].pack("na*"))
  shape + Pair.frame(1, 1, "/\0host") + Pair.frame(2, 1, "/b\0host", "a=b") + Pair.frame(3, 0, "A\0b\0C\0d\0")
end

def spoil(bytes, random)
  bytes = bytes.dup
  random.rand(1..4).times { bytes.setbyte(random.rand(bytes.bytesize), random.rand(256)) }
  # Bodies in files need a front, and are refused here.
  random.rand(3).zero? ? bytes.byteslice(0, random.rand(bytes.bytesize)) : bytes
end

Harness.check("spoiled frames, seed #{SEED}") do
  random = Random.new(SEED)
  outcomes = Hash.new(0)
  ROUNDS.times do |round|
    pair = Pair.new
    bytes = round % 10 == 0 ? random.bytes(random.rand(200)) : spoil(good_frames, random)
    pair.front.write(bytes)
    pair.close
    begin
      while (env = pair.slot.next_request)
        raise "no Strings: #{env.inspect}" unless env.select { |key, _| key.start_with?("HTTP_") }.values.all?(String)

        pair.slot.answer(200, { "a" => env["PATH_INFO"].to_s }, [env["PATH_INFO"].to_s])
        GC.start if round % 200 == 0
      end
      outcomes[:end] += 1
    rescue FoolsGold::ProtocolError, NoMethodError, Errno::EPIPE => error
      outcomes[error.class] += 1
    end
  end
  raise outcomes.inspect unless outcomes[:end].positive? && outcomes[FoolsGold::ProtocolError].positive?
end

Harness.check("garbage collection at every step") do
  plain, native = Pair.each do |pair|
    2.times { pair.front.write(good_frames) }
    GC.stress = pair.slot.is_a?(FoolsGold::NativeSlot)
    6.times do
      path = pair.slot.next_request["PATH_INFO"].to_s
      pair.slot.answer(200, { "a" => path + "x" }, [path + "y"]) or raise "it was not taken"
    end
    GC.stress = false
    pair.written
  end
  Harness.same(plain, native)
ensure
  GC.stress = false
end

Harness.check("objects that move") do
  pair = Pair.new
  pair.front.write(good_frames)
  GC.respond_to?(:verify_compaction_references) ? GC.compact : GC.start
  Harness.same(["/", "host", "GET"], pair.slot.next_request.values_at("PATH_INFO", "HTTP_HOST", "REQUEST_METHOD"))
  GC.compact if GC.respond_to?(:compact)
  Harness.same(["/b", "host", "GET"], pair.slot.next_request.values_at("PATH_INFO", "HTTP_HOST", "REQUEST_METHOD"))
rescue NotImplementedError
  nil # Compaction is not for every machine.
end
