# gems: concurrent-ruby/lib/concurrent-ruby
# ask: / /atoms /struct
require "concurrent/map"
require "concurrent/atomics"
require "concurrent/delay"
require "concurrent/settable_struct"
require "concurrent/immutable_struct"
require "concurrent/hash"
require "concurrent/array"

Point = Concurrent::ImmutableStruct.new(:x, :y)
run(lambda do |env|
  found =
    case env["PATH_INFO"]
    when "/atoms"
      [Concurrent::AtomicFixnum.new(3).increment, Concurrent::AtomicBoolean.new.make_true,
        Concurrent::AtomicReference.new(1).update { |n| n + 1 }]
    when "/struct" then [Point.new(1, 2).to_h, (Point.new(1).y),
      Concurrent::SettableStruct.new(:a).new.tap { |one| one.a = 1 }.a]
    else
      map = Concurrent::Map.new { |own, key| own[key] = key.to_s * 2 }
      [map[:a], map.compute_if_absent(:b) { 5 }, map.put_if_absent(:b, 6), map.keys.sort, map.fetch(:z, 0),
        Concurrent::Delay.new { 7 }.value]
    end
  [200, {}, [found.inspect]]
end)
