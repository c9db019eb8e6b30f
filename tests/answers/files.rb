# Bodies that name a file, and bodies that are one.

require "stringio"
require "tempfile" if RUBY_ENGINE != "mruby"
require "pathname"

PAGE = "#{Row::HERE}/page.txt"
GOLD = "a page of gold\n"

# Its each says something else than its file, so that one sees which of them was asked.
def paged(notes, path, **more)
  Made.new(notes, ["each"], to_path: path, close: nil, **more)
end

Book.row("path", 200, GOLD, length: "15", seen: "to_path close") { |notes| [200, {}, paged(notes, PAGE)] }
Book.row("path-head", 200, "", method: "HEAD", length: "15", seen: "to_path close") do |notes|
  [200, {}, paged(notes, PAGE)]
end
Book.row("path-204", 204, "", length: nil, seen: "close") { |notes| [204, {}, paged(notes, PAGE)] }
Book.row("path-304", 304, "", seen: "close") { |notes| [304, {}, paged(notes, PAGE)] }
Book.row("path-relative", 200, GOLD, length: "15") do |notes|
  [200, {}, paged(notes, PAGE.delete_prefix("#{Dir.pwd}/"))]
end
Book.row("path-pathname", 200, GOLD, length: "15") { |notes| [200, {}, paged(notes, Pathname.new(PAGE))] }
Book.row("path-empty-file", 200, "", length: "0") { |notes| [200, {}, paged(notes, "#{Row::HERE}/empty.txt")] }
Book.row("path-absent", 200, "each", seen: "to_path each close") { |n| [200, {}, paged(n, "#{Row::HERE}/absent")] }
Book.row("path-nil", 200, "each", seen: "to_path each close") { |notes| [200, {}, paged(notes, nil)] }
Book.row("path-directory", 200, "each", seen: "to_path each close") { |notes| [200, {}, paged(notes, Row::HERE)] }
Book.row("path-fifo", 200, "each", needs: :fifo) { |notes| [200, {}, paged(notes, "#{Row::HERE}/fifo")] }
Book.row("path-length", 200, GOLD, length: "15", seen: "to_path close") do |notes|
  [200, { "content-length" => "15" }, paged(notes, PAGE)]
end
Book.row("path-length-old", 200, GOLD, length: "15") { |n| [200, { "content-length" => "9" }, paged(n, PAGE)] }
Book.row("path-length-new", 200, GOLD, length: "15") { |n| [200, { "content-length" => "99" }, paged(n, PAGE)] }
%w[9 99].each do |length|
  Book.row("path-length-#{length}-head", 200, "", method: "HEAD", length: "15", seen: "to_path close") do |notes|
    [200, { "content-length" => length }, paged(notes, PAGE)]
  end
end
Book.row("path-length-head", 200, "", method: "HEAD", length: "15", seen: "to_path close") do |notes|
  [200, { "content-length" => "15" }, paged(notes, PAGE)]
end
Book.row("path-range", 206, "each", length: "4", seen: "to_path each close") do |notes|
  [206, { "content-length" => "4", "content-range" => "bytes 0-3/15" }, paged(notes, PAGE)]
end
Book.row("path-range-new", 500, fails: true, seen: "to_path each close") do |notes|
  [206, { "content-length" => "99", "content-range" => "bytes 0-98/100" }, paged(notes, PAGE)]
end
Book.row("path-range-head", 206, "", method: "HEAD", length: "4", seen: "to_path close") do |notes|
  [206, { "content-length" => "4", "content-range" => "bytes 0-3/15" }, paged(notes, PAGE)]
end

# A file that was written in this request, and so is sent by the process that has written it.
def fresh(notes, size)
  path = "#{Row::HERE}/fresh-#{size}"
  File.write(path, "f" * size)
  paged(notes, path)
end

[15, 600_000].each do |size|
  [1, 700_000].each do |length|
    { "GET" => "f" * size, "HEAD" => "" }.each do |method, body|
      Book.row("path-fresh-#{size}-#{length}-#{method.downcase}", 200, body, method: method, length: size.to_s,
                                                                             needs: :cruby) do |notes|
        [200, { "content-length" => length.to_s }, fresh(notes, size)]
      end
    end
  end
end
Book.row("path-fresh-range", 206, "each", length: "4", needs: :cruby) do |notes|
  [206, { "content-length" => "4", "content-range" => "bytes 0-3/15" }, fresh(notes, 15)]
end
Book.row("path-fresh-range-whole", 206, "f" * 15, length: "15", needs: :cruby) do |notes|
  [206, { "content-length" => "15", "content-range" => "bytes 0-14/15" }, fresh(notes, 15)]
end

# The kernel says that these are empty.
%w[version kallsyms].each do |name|
  next unless RUBY_ENGINE != "mruby" && File.size?("/proc/self/exe") && File.readable?("/proc/#{name}")

  text = File.binread("/proc/#{name}")
  Book.row("path-proc-#{name}", 200, text, needs: :cruby) { |notes| [200, {}, paged(notes, "/proc/#{name}")] }
  Book.row("path-proc-#{name}-length", 200, text, needs: :cruby) do |notes|
    [200, { "content-length" => "7" }, paged(notes, "/proc/#{name}")]
  end
  Book.row("path-proc-#{name}-head", 200, "", method: "HEAD", needs: :cruby) do |notes|
    [200, { "content-length" => "7" }, paged(notes, "/proc/#{name}")]
  end
end
Book.row("path-raises", 500, seen: "to_path close") do |notes|
  [200, {}, paged(notes, -> { raise ArgumentError, "on purpose" })]
end
Book.row("path-list-length", 200, GOLD, length: "15", seen: "to_path close") do |notes|
  [200, { "content-length" => "15" }, paged(notes, PAGE, to_ary: ["wrong"])]
end
Book.row("path-and-call", 200, "called", seen: "call close") do |notes|
  [200, {}, Made.new(notes, to_path: PAGE, close: nil, call: ->(s) { s.write("called"); s.close })]
end
Book.row("path-gone-at-close", 200, "short of life", length: "13", needs: :cruby) do |notes|
  path = "#{Row::HERE}/short-lived"
  File.write(path, "short of life")
  [200, {}, Made.new(notes, ["each"], to_path: path, close: -> { File.unlink(path) })]
end
Book.row("file", 200, GOLD, length: "15") { [200, {}, File.open(PAGE)] }
Book.row("file-length", 200, GOLD, length: "15") { [200, { "content-length" => "15" }, File.open(PAGE)] }
Book.row("file-head", 200, "", method: "HEAD") { [200, {}, File.open(PAGE)] }
Book.row("file-from-the-middle", 206, "page", length: "4") do
  file = File.open(PAGE)
  file.seek(2)
  [206, { "content-length" => "4", "content-range" => "bytes 2-5/15" }, file]
end
Book.row("file-replaced", 200, "the open one", needs: :cruby) do
  path = "#{Row::HERE}/replaced"
  File.write(path, "the open one")
  file = File.open(path)
  File.unlink(path)
  File.write(path, "the other one")
  file.define_singleton_method(:close) do
    super()
    File.unlink(path) if File.exist?(path)
  end
  [200, {}, file]
end
Book.row("file-unlinked", 200, "no name", needs: :cruby) do
  file = Tempfile.new("answers")
  file.write("no name")
  file.rewind
  file.unlink
  [200, {}, file]
end
Book.row("tempfile", 200, "temporary", needs: :cruby) do
  file = Tempfile.new("answers")
  file.write("temporary")
  file.rewind
  [200, {}, file]
end
Book.row("pipe", 200, "one\ntwo\n", needs: :cruby) { [200, {}, IO.popen(["printf", "one\\ntwo\\n"])] }
Book.row("stringio", 200, "one\ntwo") { [200, {}, StringIO.new("one\ntwo")] }
