# Bodies that answer each.

def parts(notes, *all, **more)
  Made.new(notes, all, close: nil, **more)
end

def raising(notes, *before)
  Made.new(notes, close: nil) do |out|
    before.each { |part| out.call(part) }
    raise ArgumentError, "on purpose"
  end
end

LARGE = "gold" * 50_000

Book.row("each", 200, "ab", seen: "each close") { |notes| [200, {}, parts(notes, "a", "b")] }
Book.row("each-bare", 200, "ab", seen: "each") { |notes| [200, {}, Made.new(notes, %w[a b])] }
Book.row("each-length", 200, "ab", length: "2", seen: "each close") do |notes|
  [200, { "content-length" => "2" }, parts(notes, "a", "b")]
end
Book.row("each-length-array", 200, "ab", length: "2", seen: "each close") do |notes|
  [200, { "content-length" => %w[2 2] }, parts(notes, "a", "b")]
end
Book.row("each-length-small", 200, "a", length: "1", seen: "each close") do |notes|
  [200, { "content-length" => "1" }, parts(notes, "a", "b")]
end
Book.row("each-length-large", 500, fails: true, seen: "each close") do |notes|
  [200, { "content-length" => "9" }, parts(notes, "a", "b")]
end
Book.row("each-length-huge", 200, nil, length: "500000", cut: true, seen: "each close") do |notes|
  [200, { "content-length" => "500000" }, parts(notes, LARGE, LARGE)]
end
Book.row("each-head", 200, "", method: "HEAD", length: nil, seen: "close") { |notes| [200, {}, parts(notes, "a", "b")] }
Book.row("each-head-length", 200, "", method: "HEAD", length: "2", seen: "close") do |notes|
  [200, { "content-length" => "2" }, parts(notes, "a", "b")]
end
Book.row("each-204", 204, "", length: nil, seen: "close") { |notes| [204, {}, parts(notes, "a", "b")] }
Book.row("each-205", 205, "", seen: "close") { |notes| [205, {}, parts(notes, "a", "b")] }
Book.row("each-304", 304, "", seen: "close") { |notes| [304, {}, parts(notes, "a", "b")] }
Book.row("each-nothing", 200, "", seen: "each close") { |notes| [200, {}, parts(notes)] }
Book.row("each-nothing-length", 200, "", length: "0", seen: "each close") do |notes|
  [200, { "content-length" => "0" }, parts(notes)]
end
Book.row("each-empty-strings", 200, "x", seen: "each close") { |notes| [200, {}, parts(notes, "", "x", "")] }
Book.row("each-nil", 200, "x", seen: "each close") { |notes| [200, {}, parts(notes, nil, "x", nil)] }
Book.row("each-nil-length", 200, "x", length: "1", seen: "each close") do |notes|
  [200, { "content-length" => "1" }, parts(notes, nil, "x", nil)]
end
Book.row("each-symbol", 200, "ab", seen: "each close") { |notes| [200, {}, parts(notes, :a, :b)] }
Book.row("each-integer", 200, "12.5", seen: "each close") { |notes| [200, {}, parts(notes, 1, 2.5)] }
Book.row("each-object", 500, fails: true, seen: "each close") { |notes| [200, {}, parts(notes, Object.new)] }
Book.row("each-array", 500, fails: true, seen: "each close") { |notes| [200, {}, parts(notes, ["a"])] }
Book.row("each-object-late", 200, nil, cut: true, seen: "each close") do |notes|
  [200, {}, parts(notes, LARGE, Object.new)]
end
Book.row("each-frozen", 200, "ab", seen: "each close") do |notes|
  [200, {}.freeze, parts(notes, "a".freeze, "b").freeze].freeze
end
Book.row("each-mixed", 200, "\u00e9\xff".b, seen: "each close") { |n| [200, {}, parts(n, "\u00e9", "\xff".b)] }
Book.row("each-mixed-length", 200, "\u00e9\xff".b, length: "3") do |notes|
  [200, { "content-length" => "3" }, parts(notes, "\u00e9", "\xff".b)]
end
Book.row("each-huge", 200, "g" * 5_000_000, seen: "each close") { |notes| [200, {}, parts(notes, "g" * 5_000_000)] }
Book.row("each-huge-length", 200, LARGE * 2, length: "400000", seen: "each close") do |notes|
  [200, { "content-length" => "400000" }, parts(notes, LARGE, LARGE)]
end
Book.row("each-many", 200, "x" * 5000) { |notes| [200, {}, Made.new(notes) { |out| 5000.times { out.call("x") } }] }
Book.row("each-same-string", 200, "abc") do |notes|
  part = +""
  [200, {}, Made.new(notes) { |out| %w[a b c].each { |text| out.call(part.replace(text)) } }]
end
Book.row("each-same-string-length", 200, "abc", length: "3") do |notes|
  part = +""
  [200, { "content-length" => "3" },
   Made.new(notes) { |out| %w[a b c].each { |text| out.call(part.replace(text)) } }]
end
Book.row("each-raises-first", 500, fails: true, seen: "each close") { |notes| [200, {}, raising(notes)] }
Book.row("each-raises-late", 200, nil, cut: true, seen: "each close") { |notes| [200, {}, raising(notes, LARGE)] }
Book.row("each-raises-length", 500, fails: true, seen: "each close") do |notes|
  [200, { "content-length" => "9" }, raising(notes, "a")]
end
Book.row("each-throws", 500, fails: true, seen: "each close") do |notes|
  [200, {}, Made.new(notes, close: nil) { |_| throw :away }]
end
Book.row("each-and-call", 200, "ab", seen: "each close") do |notes|
  [200, {}, parts(notes, "a", "b", call: ->(stream) { stream.write("called") })]
end
Book.row("each-without-block", 200, "ab", seen: "each close") do |notes|
  body = parts(notes)
  body.define_singleton_method(:each) do |&out|
    next enum_for(:each) unless out

    notes.note("each")
    %w[a b].each(&out)
  end
  [200, {}, body]
end
Book.row("each-returns-false", 200, "ab") { |notes| [200, {}, Made.new(notes) { |o| o.call("a"); o.call("b"); false }] }
Book.row("enumerator", 200, "ab", seen: "run") { |notes| [200, {}, counted(notes, "a", "b")] }
Book.row("enumerator-length", 200, "ab", length: "2", seen: "run") do |notes|
  [200, { "content-length" => "2" }, counted(notes, "a", "b")]
end
Book.row("enumerator-head", 200, "", method: "HEAD", length: nil, seen: "") { |n| [200, {}, counted(n, "a")] }
Book.row("lazy", 200, "24") { [200, {}, (1..4).lazy.select(&:even?).map(&:to_s)] }
Book.row("range", 200, "abc") { [200, {}, "a".."c"] }
Book.row("struct", 200, "ab", needs: :cruby) { [200, {}, Struct.new(:one, :two).new("a", "b")] }
Book.row("close-raises", 200, "ab", seen: "each close") do |notes|
  [200, {}, Made.new(notes, %w[a b], close: -> { raise "on purpose" })]
end
Book.row("close-raises-array", 200, "ab", length: "2", seen: "to_ary close") do |notes|
  [200, {}, Made.new(notes, %w[a b], to_ary: %w[a b], close: -> { raise "on purpose" })]
end

# A row of a body in whose middle what another answer has left is used: this answer is whole whatever comes of it.
def used_later(name, kept)
  Book.row(name, 200, "mine") do |notes|
    body = Made.new(notes) do |out|
      out.call("mi")
      begin
        KEPT[kept] && yield(KEPT[kept])
      rescue StandardError
        nil
      end
      out.call("ne")
    end
    [200, {}, body]
  end
end

Book.row("each-kept", 200, "a") { |notes| [200, {}, Made.new(notes) { |out| (KEPT[:block] = out).call("a") }] }
used_later("each-used-later", :block) { |block| block.call("not mine") }
