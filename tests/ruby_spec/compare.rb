# Runs ruby/spec on CRuby and on the embedded interpreter and prints how far they agree. Used by bin/ruby-spec.

require "digest"
require "fileutils"
require "optparse"
require "tmpdir"
require_relative "absent"

# What concerns an application: without what writes files, starts threads or processes, or opens sockets, and without
# the encodings and libraries that are not here at all (docs/writing-apps.md).
CORE = %w[array basicobject binding class comparable complex data enumerable enumerator exception false fiber float
          hash integer kernel main matchdata math method module nil numeric proc random range rational regexp set
          string struct symbol time true unboundmethod]
LIBRARY = %w[abbrev bigdecimal cgi date datetime delegate digest erb getoptlong ipaddr logger observer openstruct
             pathname pp prime securerandom shellwords singleton stringio stringscanner tempfile time uri weakref yaml
             zlib]
PARTS = ["language"] + CORE.map { |name| "core/#{name}" } + LIBRARY.map { |name| "library/#{name}" }

options = { failures: false, causes: 25, seconds: 20, jobs: 2, ruby: nil, ring: "/opt/ring" }
parser = OptionParser.new do |on|
  on.banner = "usage: bin/ruby-spec [--failures] [--causes N] [--ruby COMMAND | --ring FOLDER] DIR [PART...]\n" \
              "DIR is a clone of https://github.com/ruby/spec; PART one of its folders or files (language, " \
              "core/hash, library/uri/parse_spec.rb), by default those that concern an application"
  on.on("--failures", "each example that fails here and not on CRuby, with its error") { options[:failures] = true }
  on.on("--causes N", Integer, "how many of the commonest causes are printed (25)") { |n| options[:causes] = n }
  on.on("--seconds N", Integer, "the most that one file may take (20)") { |n| options[:seconds] = n }
  on.on("--jobs N", Integer, "how many files are run at a time (2)") { |n| options[:jobs] = n }
  on.on("--ruby COMMAND", "the CRuby to compare with (the one on the PATH)") { |text| options[:ruby] = text }
  on.on("--ring FOLDER", "a root folder with a CRuby, made by bin/ring (/opt/ring), for where that on the PATH is " \
                         "below 3.3") { |text| options[:ring] = text }
end
parser.parse!
abort parser.banner if ARGV.empty?

# One of the two interpreters: a command that prints a line for each example of a file.
class Side
  MEMORY = 8 << 30

  def initialize(seconds, &command)
    @seconds = seconds
    @command = command
  end

  # [kind, name, error] for each example, and what else the file had to say.
  def run(file)
    command = @command.call(file)
    reader, writer = IO.pipe
    pid = spawn(*command, out: writer, err: File::NULL, in: File::NULL, pgroup: true, rlimit_as: MEMORY)
    writer.close
    text, late = read(reader, pid)
    _, status = Process.wait2(pid)
    lines = text.force_encoding(Encoding::UTF_8).scrub.split("\n").map { |line| line.split("\t", 3) }
    lines.select! { |kind, _| kind }
    ended = lines.any? { |kind, _| kind == "end" }
    why = late ? "takes more than #{@seconds} seconds" : "ends the process (#{status.to_s.sub(/\Apid \d+ /, "")})"
    lines << ["died", why] if !ended && lines.none? { |kind, _| kind == "died" }
    lines
  ensure
    reader&.close
  end

  private

  def read(reader, pid)
    text = +""
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + @seconds + 5
    loop do
      left = deadline - Process.clock_gettime(Process::CLOCK_MONOTONIC)
      if left <= 0 || !IO.select([reader], nil, nil, left)
        Process.kill(:KILL, -pid)
        return [text, true]
      end
      text << reader.readpartial(1 << 16)
    end
  rescue EOFError
    [text, false]
  end
end

# The Ruby that is compared with.
class Control
  attr_reader :version, :platform, :place

  def initialize(options, folder)
    @folder = folder
    @command = options[:ruby] ? options[:ruby].split : ["ruby"]
    @place = options[:ruby] ? @command.join(" ") : "on the PATH"
    ask
    return if options[:ruby] || new_enough? || !File.exist?(File.join(options[:ring], "usr/bin/ruby"))
    enter(options[:ring])
    ask
  end

  def new_enough? = (@version.split(".").map(&:to_i) <=> [3, 3]) >= 0

  def side(seconds, runner)
    Side.new(seconds) do |file|
      [*@command, inside("runner.rb", runner), inside(file.delete_prefix("#{@folder}/"), file), @version, @platform]
    end
  end

  def close
    FileUtils.rm_rf(@copy) if @copy
  end

  private

  # Entered by chroot, so the files are copied into it.
  def enter(ring)
    @place = "in #{ring}"
    @copy = Dir.mktmpdir("ruby-spec", File.join(ring, "tmp"))
    FileUtils.cp_r("#{@folder}/.", @copy)
    FileUtils.cp(File.join(__dir__, "runner.rb"), @copy)
    @within = @copy.delete_prefix(ring.chomp("/"))
    env = %w[env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/root LANG=C.UTF-8]
    @command = ["chroot", ring, *env, "ruby"]
  end

  def inside(name, path) = @within ? "#{@within}/#{name}" : path

  def ask
    text = IO.popen([*@command, "-e", 'print RUBY_VERSION, " ", RUBY_PLATFORM'], &:read)
    @version, @platform = text.split(" ")
    abort "bin/ruby-spec: #{@command.join(" ")} is no Ruby that runs" unless @version
  end
end

# What both made of one file.
class Outcome
  attr_reader :file, :failures, :good

  def initialize(file, there, here)
    @file = file
    @there = numbered(there)
    @here = numbered(here)
    @load = here.find { |kind, _| kind == "load" }
    @died = here.find { |kind, _| kind == "died" }
    @good = @there.select { |_, (kind, _)| kind == "ok" }.keys
    @failures = @good.filter_map do |name|
      kind, text = @here[name]
      [name.first, text || missing(kind)] unless kind == "ok"
    end
  end

  # The file itself: what it cannot be loaded for.
  def unloaded
    return "does not load: #{@load[2]}" if @load
    return unless @died
    @died[1].include?("OutOfTime") ? "takes too long" : @died[1]
  end

  private

  def missing(kind)
    return "is skipped here" if kind == "skip"
    text = unloaded
    text ? "not run: its file #{text}" : "not run: it is not defined here"
  end

  # Examples by name and, where several have the same, by their order.
  def numbered(lines)
    seen = Hash.new(0)
    lines.select { |kind, _| %w[ok no skip].include?(kind) }.to_h do |kind, name, text|
      name = name.to_s.gsub(/0x[0-9a-f]+/, "0x")
      [[name, seen[name] += 1], [kind, text]]
    end
  end
end

# Files, two at a time, in the order in which they were given.
def each_of(files, jobs)
  work = Queue.new
  files.each_with_index { |file, i| work << [file, i] }
  results = Array.new(files.size)
  threads = Array.new(jobs) do
    Thread.new do
      while (file, i = (work.pop(true) rescue nil))
        results[i] = yield(file)
        $stderr.print "\r#{results.count(&:itself)} of #{files.size} files" if $stderr.tty?
      end
    end
  end
  threads.each(&:join)
  $stderr.print "\r\e[K" if $stderr.tty?
  results
end

folder = File.realpath(ARGV.shift)
File.directory?(File.join(folder, "language")) or abort "bin/ruby-spec: #{folder} is no clone of ruby/spec"
parts = ARGV.empty? ? PARTS : ARGV.map { |part| part.delete_suffix("/") }
files = parts.to_h do |part|
  path = File.join(folder, part)
  [part, File.file?(path) ? [path] : Dir[File.join(path, "**/*_spec.rb")].sort]
end
parts.each { |part| abort "bin/ruby-spec: there is no #{part} in #{folder}" if files[part].empty? }

runner = File.join(__dir__, "runner.rb")
control = Control.new(options, folder)
control.new_enough? or abort "bin/ruby-spec: this needs Ruby 3.3 (--ruby, or bin/ring), and found #{control.version}"
there = control.side(options[:seconds], runner)
here = Side.new(options[:seconds]) do |file|
  [ENV.fetch("RUBY_SPEC_RUNNER"), runner, folder, file, control.version, control.platform, options[:seconds].to_s]
end

# What CRuby says of a file stays the same as long as the files do.
kept = File.join(ENV.fetch("RUBY_SPEC_KEPT"), control.version)
FileUtils.mkdir_p(kept)
stamp = Dir[File.join(folder, "**/*.rb")].sort.map { |path| [path, File.size(path), File.mtime(path).to_i] }
stamp = Digest::SHA256.hexdigest(Marshal.dump([stamp, File.read(runner), options[:seconds]]))
at_exit { control.close }

outcomes = parts.to_h do |part|
  results = each_of(files[part], options[:jobs]) do |file|
    path = File.join(kept, Digest::SHA256.hexdigest(stamp + file))
    lines = File.exist?(path) ? Marshal.load(File.binread(path)) : there.run(file)
    File.binwrite(path, Marshal.dump(lines)) unless File.exist?(path)
    Outcome.new(file, lines, here.run(file))
  end
  [part, results]
end

share = ->(some, all) { all.zero? ? "" : format("%.1f %%", 100.0 * some / all) }
row = lambda do |name, results|
  good = results.sum { |result| result.good.size }
  failures = results.flat_map { |result| result.failures.map { |failure| [result.file, *failure] } }
  absent = failures.count { |failure| Absent.reason(*failure) }
  passed = good - failures.size
  unloaded = results.count { |result| result.good.any? && result.unloaded }
  puts "| #{name} | #{results.size} | #{unloaded} | #{good} | #{passed} | #{share[passed, good]} | #{absent} | " \
       "#{share[passed, good - absent]} |"
end
puts "CRuby #{control.version} (#{control.place}) and the embedded interpreter, file by file.", ""
puts "| part | files | of them not loaded or ended here | pass on CRuby | pass here | share | of the rest absent | " \
     "share without absent |"
puts "| --- | --- | --- | --- | --- | --- | --- | --- |"
outcomes.each { |part, results| row[part, results] }
%w[core library].each do |kind|
  results = outcomes.select { |part, _| part.start_with?("#{kind}/") }.values.flatten
  row["all of #{kind}", results] if outcomes.count { |part, _| part.start_with?("#{kind}/") } > 1
end
row["all", outcomes.values.flatten] if outcomes.size > 1

all = outcomes.values.flatten.flat_map { |result| result.failures.map { |name, text| [result.file, name, text] } }
by_reason = all.group_by { |failure| Absent.reason(*failure) }
rest = by_reason.delete(nil) || []
puts "", "Documented as absent or other (tests/ruby_spec/absent.rb):"
by_reason.sort_by { |_, list| -list.size }.each { |reason, list| puts format("%6d  %s", list.size, reason) }

# Causes without what is particular to an example.
plain = lambda do |text|
  text = text.sub(/ \[[^\]]*\]\z/, "")
  next text[0, 110] if text.start_with?("not run")
  text.gsub(/"(?:[^"\\]|\\.)*"/, '"…"').gsub(/0x\h+/, "0x").gsub(/-?\b\d+(\.\d+)?(e[+-]?\d+)?\b/, "N")[0, 110]
end
puts "", "The commonest causes of the others:"
causes = rest.group_by { |_, _, text| plain[text] }.sort_by { |_, list| -list.size }
causes.first(options[:causes]).each do |cause, list|
  places = list.map { |file, _| file.delete_prefix("#{folder}/").delete_suffix("_spec.rb") }.tally.sort_by { |_, n| -n }
  puts format("%6d  %s  (%s)", list.size, cause, places.first(2).map(&:first).join(", "))
end
if options[:failures]
  puts "", "Failures:"
  all.each do |failure|
    file, name, text = failure
    reason = Absent.reason(*failure)
    puts "#{file.delete_prefix("#{folder}/")}: #{name}: #{text}#{" {#{reason}}" if reason}"
  end
end
