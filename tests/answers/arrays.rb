# Bodies that are Arrays, and what is handed back in place of one.

require "delegate"

# A kind of Array of its own.
class Pieces < Array; end

Book.row("array", 200, "ab", length: "2") { [200, {}, %w[a b]] }
Book.row("array-one", 200, "a", length: "1") { [200, {}, ["a"]] }
Book.row("array-empty", 200, "", length: "0") { [200, {}, []] }
Book.row("array-frozen", 200, "ab", length: "2") { [200, {}.freeze, %w[a b].map(&:freeze).freeze].freeze }
Book.row("array-subclass", 200, "ab", length: "2") { [200, {}, Pieces.new(%w[a b])] }
Book.row("array-empty-strings", 200, "x", length: "1") { [200, {}, ["", "x", ""]] }
Book.row("array-nil", 200, "x", length: "1") { [200, {}, [nil, "x", nil]] }
Book.row("array-only-nil", 200, "", length: "0") { [200, {}, [nil]] }
Book.row("array-integer", 200, "12.5", length: "4") { [200, {}, [1, 2.5]] }
Book.row("array-symbol", 200, "ab", length: "2") { [200, {}, [:a, "b"]] }
Book.row("array-object", 500) { [200, {}, ["a", Object.new]] }
Book.row("array-array", 500) { [200, {}, [["a"]]] }
Book.row("array-hash", 500) { [200, {}, [{ "a" => 1 }]] }
Book.row("array-mixed", 200, "\u00e9\xff".b, length: "3") { [200, {}, ["\u00e9", "\xff".b]] }
Book.row("array-utf16", 200, "a\0b", length: "3", needs: :cruby) { [200, {}, ["a".encode("UTF-16LE"), "b"]] }
Book.row("array-huge", 200, "g" * 3_000_001, length: "3000001") { [200, {}, ["g" * 1_500_000, "g" * 1_500_001]] }
Book.row("array-many", 200, "x" * 20_000, length: "20000") { [200, {}, Array.new(20_000, "x")] }
Book.row("array-length", 200, "ab", length: "2") { [200, { "content-length" => "2" }, %w[a b]] }
Book.row("array-length-nil", 200, "ab", length: "2") { [200, { "content-length" => "2" }, ["a", nil, "b"]] }
Book.row("array-length-small", 200, "ab", length: "2") { [200, { "content-length" => "2" }, %w[abcd]] }
Book.row("array-length-large", 500) { [200, { "content-length" => "5" }, %w[ab]] }
Book.row("array-head", 200, "", method: "HEAD", length: "2") { [200, {}, %w[a b]] }
Book.row("array-close", 200, "ab", length: "2", seen: "close") do |notes|
  body = %w[a b]
  body.define_singleton_method(:close) { notes.note("close") }
  [200, {}, body]
end
Book.row("array-own-each", 200, "ab") do
  body = %w[a b]
  body.define_singleton_method(:each) { |&out| %w[a b].each(&out) }
  [200, {}, body]
end
Book.row("delegator", 200, "ab", length: "2") { [200, {}, SimpleDelegator.new(%w[a b])] }
Book.row("string", 200, "text", length: "4") { [200, {}, "text"] }
Book.row("string-head", 200, "", method: "HEAD", length: "4") { [200, {}, "text"] }
Book.row("nil", 500) { [200, {}, nil] }
Book.row("nil-head", 200, "", method: "HEAD") { [200, {}, nil] }
Book.row("nil-204", 204, "", length: nil) { [204, {}, nil] }
Book.row("nil-205", 205, "", length: "0") { [205, {}, nil] }
Book.row("nil-304", 304, "", length: nil) { [304, {}, nil] }
Book.row("nil-304-head", 304, "", method: "HEAD", length: nil) { [304, {}, nil] }
Book.row("hash", 500, fails: true) { [200, {}, { "a" => "b" }] }
Book.row("integer", 500) { [200, {}, 5] }
Book.row("bytesize-only", 500) { |notes| [200, {}, Made.new(notes, bytesize: 2, size: 2)] }
Book.row("closed-anyway", 500, seen: "close") { |notes| [200, {}, Made.new(notes, close: nil)] }
