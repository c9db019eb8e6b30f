# Prints a file of cases anew, with CRuby's answers: ruby print.rb GEMS FOLDER >NEW
# GEMS has gems/NAME-VERSION/lib, FOLDER has config.ru and cases.txt; README.md says what a file of cases looks like.
# The environment is what the server makes of such a request, and the answer is read as the server reads it.

ENV["TZ"] = "UTC"
ENV["RACK_ENV"] = "test"
gems, given = ARGV.first(2).map { |path| File.expand_path(path) }
$LOAD_PATH.unshift(*Dir["#{gems}/gems/*/lib"])

require "fileutils"
require "rack"
require "rack/builder"
require "stringio"
require "tmpdir"

# What is written of a text: each line in quotation marks, with escapes for all that does not print.
def quoted(text)
  text.b.each_line("\n").map do |line|
    line = line.dup.force_encoding("UTF-8")
    chars = line.valid_encoding? ? line.each_char : line.b.each_char
    %("#{chars.map { |char| escaped(char) }.join}")
  end
end

def escaped(char)
  case char
  when "\n" then "\\n"
  when "\r" then "\\r"
  when "\t" then "\\t"
  when "\"", "\\" then "\\#{char}"
  else (" ".."~").cover?(char) || char.bytesize > 1 ? char : format("\\x%02x", char.ord)
  end
end

def unquoted(text)
  named = { "n" => "\n", "r" => "\r", "t" => "\t" }
  text[1...-1].b.gsub(/\\(x\h\h|.)/n) { $1.size == 3 ? $1[1..].hex.chr.b : named.fetch($1) { $1 } }
end

# What is not the same each time: the text after each mask becomes a star, and is kept for later requests. It ends
# at a space, or where the mask ends with "..." at the end of a cookie's attribute.
class Masks
  attr_reader :kept

  def initialize(masks)
    @masks = masks
    @kept = {}
  end

  def hide(text)
    @masks.inject(text.b) do |hidden, mask|
      stop = mask.end_with?("...") ? ";\"" : "\\s;,\"'<>&\\\\"
      hidden.gsub(/(#{Regexp.escape(mask.delete_suffix('...').b)})([^#{stop}]+)/n) { @kept[mask] = $2 and "#{$1}*" }
    end.force_encoding("UTF-8")
  end

  def fill(text)
    text.gsub(/\{\{(.+?)\}\}/) { @kept.fetch($1) }
  end
end

# The cookies that answers have set.
class Jar
  def initialize = @held = {}
  def to_s = @held.map { |name, value| "#{name}=#{value}" }.join("; ")

  def take(line)
    pair, *rest = line.split(/;\s*/)
    name, value = pair.split("=", 2)
    gone = rest.any? { |one| one.match?(/\Amax-age=0\z|\Aexpires=Thu, 01 Jan 1970/i) }
    gone ? @held.delete(name) : @held[name] = value
  end
end

def environment(rows, jar, masks)
  method, target = rows.shift.split(" ", 2)
  path, query = masks.fill(target).split("?", 2)
  env = { "REQUEST_METHOD" => method, "SCRIPT_NAME" => "", "PATH_INFO" => path, "QUERY_STRING" => query.to_s,
          "REQUEST_URI" => target, "SERVER_PROTOCOL" => "HTTP/1.1", "HTTP_VERSION" => "HTTP/1.1",
          "rack.url_scheme" => "http", "SERVER_NAME" => "localhost", "SERVER_PORT" => "80",
          "REMOTE_ADDR" => "127.0.0.1", "rack.errors" => StringIO.new, "rack.multithread" => false,
          "rack.multiprocess" => true, "rack.run_once" => false, "rack.hijack?" => false,
          "SERVER_SOFTWARE" => "FoolsGold", "GATEWAY_INTERFACE" => "CGI/1.2", "rack.response_finished" => [] }
  body = "".b
  rows.each do |row|
    next body << masks.fill(unquoted(row)) if row.start_with?("\"")
    name, value = row.split(": ", 2)
    value = value == "*" && name == "cookie" ? jar.to_s : masks.fill(value)
    key = name.upcase.tr("-", "_")
    key = "HTTP_#{key}" unless %w[CONTENT_TYPE CONTENT_LENGTH].include?(key)
    env["SERVER_NAME"], env["SERVER_PORT"] = value.match(/\A(.*?)(?::(\d+))?\z/).captures if name == "host"
    env[key] = env[key] ? "#{env[key]}, #{value}" : value
  end
  env["CONTENT_LENGTH"] = body.bytesize.to_s unless body.empty?
  env.merge("rack.input" => StringIO.new(body), "SERVER_PORT" => env["SERVER_PORT"] || "80")
end

# A body whose length the headers give is not asked for to_ary, and one for HEAD only for what costs nothing.
def read(body, env, rows)
  framed = rows.any? { |name, _| name == "content-length" }
  parts = body.to_ary if body.is_a?(Array) || (!framed && body.respond_to?(:to_ary))
  return parts.map(&:b).join if parts.is_a?(Array)
  return File.binread(body.to_path) if body.respond_to?(:to_path)
  return "" if env["REQUEST_METHOD"] == "HEAD"

  out = StringIO.new("".b)
  body.respond_to?(:each) ? body.each { |part| out << part } : body.call(out)
  out.string
ensure
  body.close if body.respond_to?(:close)
end

def answer(app, env, jar)
  status, headers, body = app.call(env)
  headers = headers.reject { |name, _| name.start_with?("rack.") }.to_a
  rows = headers.flat_map { |name, value| [*value].join("\n").split("\n").map { |line| [name.downcase, line.strip] } }
  rows.each { |name, line| jar.take(line) if name == "set-cookie" }
  text = read(body, env, rows)
  env["rack.response_finished"].reverse_each { |one| one.call(env, status, headers, nil) }
  sorted = rows.sort_by.with_index { |(name, _), at| [name, at] }
  [status.to_i.to_s, *sorted.map { |row| row.join(": ") }, *quoted(text)]
rescue StandardError => error
  ["! #{error.class}"]
end

$VERBOSE = nil
Dir.mktmpdir do |folder|
  FileUtils.cp_r("#{given}/.", folder)
  Dir.glob("#{folder}/**/*") { |path| File.utime(1_704_164_645, 1_704_164_645, path) }
  app = Dir.chdir(folder) { Rack::Builder.parse_file("#{folder}/config.ru") }
  text = File.read("#{folder}/cases.txt")
  masks = Masks.new(text.scan(/^# mask (.+)$/).flatten)
  jar = Jar.new
  puts(text.split(/\n\n+/).map do |block|
    rows = block.lines(chomp: true).reject { |row| row.start_with?("< ") }
    asked = rows.select { |row| row.start_with?("> ") }.map { |row| row[2..] }
    next rows.join("\n") if asked.empty?
    said = answer(app, environment(asked, jar, masks), jar).map { |row| masks.hide(row.gsub(folder, "FOLDER")) }
    [*rows, *said.map { |row| "< #{row}" }].join("\n")
  end.join("\n\n"))
end
