# frozen_string_literal: true

# A native slot writes the same answers as a plain one.

require "objspace"
require_relative "support"

# Returns the bytes of both slots for an answer; the Ruby methods help where the native slot declines it as unusual.
def answers(*answer)
  Pair.each do |pair|
    pair.shape(1, "A", "v")
    pair.request(77, 1, "x")
    pair.slot.next_request
    Harness.raised(FoolsGold::BadAnswer) do
      pair.slot.answer(*answer) || FoolsGold::Answer.new(pair.slot).give(*answer)
    end
    pair.written
  end
end

class LoudHash < Hash
  def each
    super { |name, value| yield name.upcase, value }
  end
end

class ClosableArray < Array
  def close; end
end

{
  "hello" => [200, { "a" => "b", "c" => "d" }, ["hello"]],
  "nothing" => [204, {}, []],
  "several parts" => [200, { "a" => "" }, ["a", "", "\u00fc", "\xff".b]],
  "several values" => [200, { "set-cookie" => ["a=1", "b=2"], "x" => [], "y" => ["z"] }, ["a"]],
  "line feeds" => [200, { "set-cookie" => "a=1\nb=2" }, ["a"]],
  "a wide body" => [200, { "a" => "b" }, ["a".encode("UTF-16LE")]],
  "many headers" => [200, (1..40).to_h { |n| ["n#{n}", "v"] }, ["a"]],
  "as many as the front takes, and more" => [200, (1..200).to_h { |n| ["n#{n}", "v"] }, ["a"]],
  "many bytes" => [200, { "a" => "b" }, ["x" * 100_000, "y" * 100_000]],
  "for the server" => [200, { "rack.thing" => "b", "d" => "e" }, ["a"]],
  "a number in a header" => [200, { "a" => 1 }, ["a"]],
  "a Symbol as a header" => [200, { a: "b" }, ["a"]],
  "an Array of its own" => [200, { "a" => "b" }, ClosableArray.new(["a"])],
  "headers as pairs" => [200, [%w[a b]], ["a"]],
  "a status as text" => ["200", { "a" => "b" }, ["a"]],
  "statuses out of range" => [2**70, {}, ["a"]],
  "a small status" => [99, {}, ["a"]],
  "no body" => [200, {}, nil],
  "parts that are no Strings" => [200, {}, [1]]
}.each do |name, answer|
  Harness.check("answer: #{name}") do
    plain, native = answers(*answer)
    Harness.same(plain, native)
  end
end

Harness.check("unusual headers are left to Ruby") do
  slot = Pair.new.slot
  [{ "a" => "b\0c" }, { "a\0" => "b" }, { "a" => ["b\0"] }, { "rack.hijack" => "x" }, { "a" => nil },
   { "a" => [] }, { "a" => ["b\nc"] },
   LoudHash.new.merge!("a" => "b"), [%w[a b]]].each { |headers| Harness.same(false, slot.answer(200, headers, ["a"])) }
  Harness.same(false, slot.answered?)
end

Harness.check("a hundred headers are nothing unusual") do
  slot = Pair.new.slot
  Harness.same(true, slot.answer(200, (1..100).to_h { |n| ["n#{n}", "v"] }, ["a"]))
  Harness.same(false, slot.answer(200, (1..129).to_h { |n| ["n#{n}", "v"] }, ["a"]))
end

Harness.check("large bodies are left to Ruby") do
  pair = Pair.new
  Harness.same(false, pair.slot.answer(200, {}, ["x" * 524_289]))
  Harness.same(false, pair.slot.answered?)
  Harness.same(true, pair.slot.answer(200, {}, ["x" * 524_288]))
  Harness.same(true, pair.slot.answered?)
end

Harness.check("more than the connection takes at once") do
  pair = Pair.new
  reader = Thread.new { pair.front.read }
  part = "0123456789" * 40_000
  5.times { pair.slot.answer(200, {}, [part]) }
  pair.slot.flush
  pair.slot.chunk(part)
  pair.hang_up
  Harness.same((18 + part.bytesize) * 5 + 5 + part.bytesize, reader.value.bytesize)
end

# Returns the frames in these bytes, each as its kind and its payload.
def frames(bytes)
  found = []
  until bytes.empty?
    length, kind = bytes.unpack("NC")
    found << [kind, bytes.byteslice(5, length - 1)]
    bytes = bytes.byteslice(4 + length, bytes.bytesize)
  end
  found
end

# Makes a check with a plain slot, and with a native one.
def check_each(name)
  Pair.each { |pair| Harness.check("#{name}, from #{pair.slot.class}") { yield pair } }
end

# Returns bytes in which no two longer parts are equal.
def uneven(size)
  (0...(size / 8)).map { |at| format("%08x", at) }.join
end

check_each("a long String in pieces") do |pair|
  reader = Thread.new { pair.front.read }
  long = uneven(1_500_000)
  [long, uneven(16_384), "short", long.dup.force_encoding("UTF-16LE"), ""].each { |part| pair.slot.chunk(part) }
  pair.hang_up
  got = frames(reader.value)
  Harness.same([Pair::F::CHUNK], got.map(&:first).uniq)
  Harness.same([524_288, 524_288, 451_424], got.first(3).map { |_, payload| payload.bytesize })
  Harness.same("#{long}#{uneven(16_384)}short#{long}", got.map(&:last).join)
end

Harness.check("a piece that is broken off, and one that another thread's frame meets, are whole") do
  pair = Pair.new
  long = uneven(500_000)
  changed = long.dup
  writer = Thread.new do
    pair.slot.chunk(changed)
  rescue IOError
    pair.slot.add(Pair::F::END_OF_BODY, "")
    pair.slot.flush
    pair.hang_up
  end
  Thread.pass until writer.status == "sleep" # It has filled the connection.
  pair.slot.send_now(Pair::F::HINTS, "from another thread")
  changed.replace("changed" * 100_000)
  writer.raise(IOError, "broken off")
  got = frames(pair.front.read)
  writer.join
  Harness.same([[Pair::F::CHUNK, long], [Pair::F::HINTS, "from another thread"], [Pair::F::END_OF_BODY, ""]], got)
end

check_each("long pieces that wait at the same time are whole") do |pair|
  pair.slot.add(Pair::F::HINTS, uneven(500_000))
  parts = [uneven(400_000).reverse, "x" * 300_000]
  writers = parts.map { |part| Thread.new { pair.slot.chunk(part) } }
  Thread.pass until writers.all? { |writer| writer.status == "sleep" } # Both wait for the frame before theirs.
  reader = Thread.new { pair.front.read }
  writers.each(&:join)
  pair.hang_up
  hints, *chunks = frames(reader.value)
  Harness.same([Pair::F::HINTS, uneven(500_000)], hints)
  Harness.same([Pair::F::CHUNK] * 2, chunks.map(&:first))
  Harness.same(parts.sort, chunks.map(&:last).sort)
end

check_each("a file in chunks") do |pair|
  content = uneven(200_000)
  reader = Thread.new { pair.front.read }
  Dir.mktmpdir do |folder|
    path = File.join(folder, "file")
    File.binwrite(path, content)
    File.open(path, "rb") { |file| pair.slot.send_file(file) }
  end
  pair.hang_up
  got = frames(reader.value)
  sizes = [65_536, 65_536, 65_536, 3392]
  Harness.same(sizes.map { |size| [Pair::F::CHUNK, size] }, got.map { |kind, part| [kind, part.bytesize] })
  Harness.same(content, got.map(&:last).join)
end

check_each("a String of the caller's own is that again when it is broken off") do |pair|
  own = uneven(500_000).b
  writer = Thread.new do
    pair.slot.send_own(own)
  rescue IOError
    own.replace("changed" * 100_000)
    pair.slot.flush
    pair.hang_up
  end
  Thread.pass until writer.status == "sleep"
  writer.raise(IOError, "broken off")
  got = frames(pair.front.read)
  writer.join
  Harness.same([[Pair::F::CHUNK, uneven(500_000)]], got)
end

# A String that shares its bytes with another leaves them to the garbage collector when it is filled again.
Harness.check("a String of the caller's own shares its bytes with no other after it was sent") do
  pair = Pair.new
  own = "x" * 65_536
  reader = Thread.new { pair.front.read(own.bytesize + 5) }
  pair.slot.send_own(own)
  Harness.same(own.bytesize + 5, reader.value.bytesize)
  Harness.same(false, ObjectSpace.dump(own).include?('"shared":true'))
end

# Stands for the slot of a Stream that writes to another connection.
class OtherSlot
  { check_process: nil, own_process?: true, torn?: false, settle: nil }
    .each { |name, value| define_method(name) { value } }
end

Harness.check("a stream that another thread writes to is closed at its end, whatever is raised meanwhile") do
  begun = Queue.new
  gate = Queue.new
  slot = OtherSlot.new
  slot.define_singleton_method(:chunk) { |_part| begun.push(true) && gate.pop }
  stream = FoolsGold::Stream.new(slot, nil)
  writer = Thread.new { stream.write("part") }
  begun.pop
  finisher = Thread.new { Harness.raised(IOError) { stream.finish } }
  Thread.pass until finisher.status == "sleep"
  finisher.raise(IOError, "meanwhile")
  gate.push(true)
  Harness.same([4, "meanwhile", true], [writer.value, finisher.value, stream.closed?])
end

Harness.check("what is left of a part whose write was broken off is sent without another write") do
  front, io = UNIXSocket.pair
  stream = FoolsGold::Stream.new(OtherSlot.new, nil)
  stream.lend { nil }
  stream.go_on(FoolsGold::Rest.new(io)) { nil }
  writer = Thread.new { Harness.raised(IOError) { stream.write(uneven(500_000)) } }
  Thread.pass until writer.status == "sleep"
  writer.raise(IOError, "broken off")
  Harness.same("broken off", writer.value)
  sent = "".b
  until sent.bytesize == 500_005
    stream.look
    sent << front.read_nonblock(500_005)
  end
  Harness.same([[Pair::F::CHUNK, uneven(500_000)]], frames(sent))
end

Harness.check("streams that were left are looked at the less often the more there are") do
  times = []
  looks = 0
  stream = Object.new
  stream.define_singleton_method(:look) { looks += 1 }
  front, io = UNIXSocket.pair
  rest = FoolsGold::Rest.new(io)
  rest.stream = stream
  rests = Class.new(FoolsGold::Rest)
  rests.define_singleton_method(:sleep) { |time| times << time }
  [1, 5000].each { |count| rests.send(:look, [rest] * count) }
  Harness.same([[FoolsGold::Stream::LOOK, 0.5], 5001], [times, looks])
  front.close
end

Harness.check("a front that is gone") do
  pair = Pair.new
  pair.close
  pair.slot.answer(200, {}, ["a"])
  Harness.raised(Errno::EPIPE) { pair.slot.flush } or raise "it was written"
end
