# Runs small applications that use gems on CRuby and on the embedded interpreter, and compares their answers byte for
# byte. Used by bin/gems-compare.

require "fileutils"
require "json"
require "net/http"
require "optparse"
require "socket"
require "tmpdir"
require_relative "asked"

options = { ring: "/opt/ring", ruby: nil, program: ENV.fetch("GEMS_COMPARE_PROGRAM"), show: false }
parser = OptionParser.new do |on|
  on.banner = "usage: bin/gems-compare [--show] [--ruby COMMAND | --ring FOLDER] [--program FILE] DIR [NAME...]\n" \
              "DIR has a folder for each gem, as the lines `# gems:` of tests/gems name them (NAME, or NAME-VERSION)"
  on.on("--show", "both answers where they differ, and what the log said") { options[:show] = true }
  on.on("--ruby COMMAND", "the CRuby to compare with (the one on the PATH)") { |text| options[:ruby] = text }
  on.on("--ring FOLDER", "a root folder with a CRuby, made by bin/ring (/opt/ring), for where that on the PATH is " \
                         "below 3.3; DIR must be inside") { |text| options[:ring] = text }
  on.on("--program FILE", "the foolsgold to ask (the one of this tree)") { |text| options[:program] = text }
end
parser.parse!
abort parser.banner if ARGV.empty?

HERE = __dir__
# Headers that servers write, and applications do not.
SERVERS = %w[date server x-request-id content-length connection transfer-encoding keep-alive].freeze
PATIENCE = Integer(ENV.fetch("PATIENCE", "60"))

# An answer that can be compared.
Answer = Struct.new(:status, :headers, :body) do
  def self.of(status, headers, body) = new(status, headers.reject { |name, _| SERVERS.include?(name) }, body)

  def to_s
    text = body.dup.force_encoding(Encoding::UTF_8).scrub
    "#{status} #{headers.inspect}\n      #{text.lines.first(12).join("      ")}"
  end
end

# Folders of gems, one application, and what both interpreters make of it.
class Comparison
  attr_reader :asked, :log

  def initialize(file, folder, options)
    @file = file
    @asked = Asked.new(file)
    @folder = File.realpath(folder)
    @options = options
    @log = ""
  end

  def absent = @asked.gems.reject { |gem| path_of(gem) }

  def control
    @control ||= in_place do |place|
      command = chroot? ? ["chroot", @options[:ring], "ruby"] : (@options[:ruby] || "ruby").split
      paths = [inside("#{place}/tests/control.rb"), inside("#{place}/tests/#{File.basename(@file)}"),
        inside("#{place}/config.ru")]
      text = capture({ "RUBYLIB" => libraries.map { |path| inside(path) }.join(":"), "LANG" => "C.UTF-8",
        "TZ" => "UTC" }, *command, *paths)
      text.lines.map { |line| JSON.parse(line) }.map { |status, headers, body| Answer.of(status, headers,
        body.unpack1("m")) }
    end
  end

  def embedded
    @embedded ||= in_place { |place| served(place) { |port| @asked.requests.map { |request| ask(port, request) } } }
  end

  private

  def chroot? = !@options[:ruby] && File.directory?(@options[:ring])
  def inside(path) = chroot? ? path.delete_prefix(@options[:ring].chomp("/")) : path

  # A gem's folder, or that of it with a version behind its name, or a path that ends in the folder of its files.
  def path_of(gem)
    first, rest = gem.split("/", 2)
    found = Dir[File.join(@folder, first), File.join(@folder, "#{first}-[0-9]*")].max or return nil
    path = rest ? File.join(found, rest) : found
    File.directory?(File.join(path, "lib")) ? File.join(path, "lib") : (path if rest && File.directory?(path))
  end

  def libraries = @asked.gems.map { |gem| path_of(gem) }

  def in_place
    base = chroot? ? File.join(@options[:ring], "tmp") : Dir.tmpdir
    Dir.mktmpdir("gems-compare", base) do |place|
      FileUtils.cp(@file, "#{place}/config.ru")
      data = @file.delete_suffix(".ru")
      FileUtils.cp_r(data, "#{place}/") if File.directory?(data)
      FileUtils.mkdir("#{place}/tests")
      FileUtils.cp(["#{HERE}/asked.rb", "#{HERE}/control.rb", @file], "#{place}/tests/")
      File.chmod(0o755, place)
      yield place
    end
  end

  def capture(variables, *command)
    reader, writer = IO.pipe
    pid = spawn(variables, *command, out: writer, err: @options[:show] ? $stderr : File::NULL, in: File::NULL,
      pgroup: true)
    writer.close
    late = Thread.new { sleep(PATIENCE); Process.kill(:KILL, -pid) rescue nil }
    reader.read
  ensure
    late&.kill
    reader&.close
    Process.wait(pid) if pid
  end

  def served(place)
    port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    log = "#{place}/log"
    variables = { "RUBYLIB" => libraries.join(":"), "GEM_HOME" => @folder, "TZ" => "UTC", "LANG" => "C.UTF-8" }
    pid = spawn(variables, @options[:program], "--engine", "mruby", "--no-config", "-t", "1", "-b",
      "tcp://127.0.0.1:#{port}", "config.ru",
                chdir: place, out: log, err: log, in: File::NULL)
    up?(pid, port) ? yield(port) : []
  ensure
    if pid
      Process.kill(:KILL, pid) rescue nil
      Process.wait(pid) rescue nil
    end
    @log = File.file?(log) ? File.read(log).scrub : ""
  end

  def up?(pid, port)
    (PATIENCE * 20).times do
      return false if Process.wait(pid, Process::WNOHANG)
      return true if Socket.tcp("127.0.0.1", port, &:close) || true
    rescue SystemCallError
      sleep 0.05
    end
    false
  end

  def ask(port, asked)
    request = Net::HTTPGenericRequest.new(asked.verb, !asked.body.nil?, true, asked.path, asked.headers)
    %w[accept-encoding user-agent].each { |name| request.delete(name) }
    request.body = asked.body
    answer = Net::HTTP.start("127.0.0.1", port, read_timeout: PATIENCE) { |http| http.request(request) }
    Answer.of(answer.code.to_i, answer.to_hash.transform_values { |values| values.join(", ") }.sort.to_h,
      answer.body.to_s.b)
  rescue SystemCallError, IOError, Timeout::Error => error
    Answer.of(0, {}, "#{error.class}: #{error.message}")
  end
end

# The first line of a log that says what went wrong.
def reason(log)
  line = log.lines.grep(/ERROR|Error|error/).first.to_s.strip
  line[/\b[A-Z]\w*(::\w+)*(Error|Exception|Unsupported\w*)\b.*/] || line
end

folder, *names = ARGV
files = Dir["#{HERE}/*.ru"].sort
files.select! { |file| names.include?(File.basename(file, ".ru")) } unless names.empty?
abort "no such application in tests/gems" if files.empty?
counts = { same: 0, run: 0 }
puts "| gem | requests | here |", "| --- | --- | --- |"
files.each do |file|
  one = Comparison.new(file, folder, options)
  unless one.absent.empty?
    puts "| #{one.asked.name} | | not compared: #{one.absent.join(", ")} is not in the folder |"
    next
  end
  control = one.control
  broken = control.index { |answer| answer.status == 500 }
  if control.size != one.asked.requests.size || broken
    puts "| #{one.asked.name} | | not compared: CRuby fails#{": #{control[broken].body}" if broken} |"
    next
  end
  counts[:run] += 1
  embedded = one.embedded
  differing = one.asked.requests.each_index.reject { |at| control[at] == embedded[at] }
  counts[:same] += 1 if differing.empty?
  said =
    if differing.empty? then "the same"
    elsif embedded.empty? then "does not load: #{reason(one.log)}"
    else "differs at #{differing.map { |at| one.asked.requests[at].path }.join(", ")} #{reason(one.log)}".rstrip
    end
  puts "| #{one.asked.name} | #{one.asked.requests.size} | #{said.gsub("|", "\\|")[0, 300]} |"
  $stdout.flush
  next unless options[:show] && !differing.empty?
  differing.each { |at| puts "    #{one.asked.requests[at].path}", "      CRuby #{control[at]}",
    "      here  #{embedded[at]}" }
  puts one.log.lines.grep(/ERROR|WARN|^\s/).first(12).map { |line| "    #{line}" }
end
puts "", "#{counts[:same]} of #{counts[:run]}"
exit(counts[:same] == counts[:run] ? 0 : 1)
