# Runs generated programs on CRuby (the one that runs this) and on the embedded interpreter, and prints what differs,
# made as small as it can be. Used by bin/language-fuzz, which says how.

require "optparse"
require "tmpdir"
require_relative "generate"

options = { seed: Random.new_seed % 1_000_000, programs: nil, minutes: nil, only: nil, most: 40 }
OptionParser.new do |parser|
  parser.banner = "usage: bin/language-fuzz [--seed N] [--programs N | --minutes M] [--only THEME,...] [--most N]"
  parser.on("--seed N", Integer, "the same programs as in the run that printed N") { |n| options[:seed] = n }
  parser.on("--programs N", Integer, "how many (1000)") { |n| options[:programs] = n }
  parser.on("--minutes M", Float, "as many as so much time allows") { |n| options[:minutes] = n }
  parser.on("--only THEMES", Array,
    Generate::THEMES.join(", ")) { |list| options[:only] = list.map { |t| t.downcase.to_sym } }
  parser.on("--most N", Integer, "stop at so many differences (40)") { |n| options[:most] = n }
end.parse!
options[:programs] ||= 1000 unless options[:minutes]
unknown = (options[:only] || []) - Generate::THEMES
abort "bin/language-fuzz: no theme #{unknown.join(', ')}; there are #{Generate::THEMES.join(', ')}" if unknown.any?

# Both interpreters, by folders full of programs.
class Pair
  TRACE = File.expand_path("../../crates/engine-mruby/tests/programs/trace.rb", __dir__)
  RUN = <<~'RUBY'
    $VERBOSE = nil
    require ARGV[0]
    Dir[File.join(ARGV[1], "*.rb")].sort.each do |path|
      reader, writer = IO.pipe
      pid = fork do
        reader.close
        writer.write(Programs.run(path).join("\n"))
        writer.close
        exit!(0)
      end
      writer.close
      text = IO.select([reader], nil, nil, 20) ? reader.read : (Process.kill(:KILL, pid); "! Slow")
      Process.wait(pid)
      reader.close
      print "== #{File.basename(path)}\n", text, "\n"
    end
  RUBY

  def initialize(runner)
    @runner = runner
  end

  # For each text what CRuby notes and what the embedded interpreter does.
  def run(texts)
    Dir.mktmpdir("language-fuzz") do |folder|
      names = texts.each_index.map { |i| format("p%05d.rb", i) }
      names.zip(texts) { |name, text| File.write(File.join(folder, name), text) }
      there = outputs(["ruby", "-W0", "-e", RUN, TRACE, folder])
      # What CRuby does not take is no program.
      names.each { |name| File.delete(File.join(folder,
        name)) if there[name].nil? || there[name].start_with?("! SyntaxError") }
      here = outputs([@runner, folder])
      # A process that ended has not run the rest.
      rest = names.select { |name| File.exist?(File.join(folder, name)) && !here.key?(name) }
      crashed = here.keys.last if rest.any?
      until rest.empty?
        here.each_key { |name| File.delete(File.join(folder, name)) if File.exist?(File.join(folder, name)) }
        more = outputs([@runner, folder])
        break if more.empty?
        here[crashed] = "! CRASH" if crashed
        here.update(more)
        rest -= here.keys
        crashed = more.keys.last
      end
      here[crashed] = "! CRASH" if crashed && rest.any?
      names.map { |name| [there[name], here[name] || "! nothing"] }
    end
  end

  private

  def outputs(command)
    text = IO.popen(command, err: File::NULL, external_encoding: "UTF-8", &:read).scrub
    text.split(/^== (p\d+\.rb)\n/).drop(1).each_slice(2).to_h { |name, lines| [name, lines.to_s.delete_suffix("\n")] }
  end
end

# What became of one program.
class Result
  attr_reader :there, :here

  def initialize(there, here)
    @there = there.to_s
    @here = here.to_s
  end

  def program? = !@there.empty? && !@there.start_with?("! SyntaxError", "! Slow")
  def differs? = program? && @there != @here
  def refused? = differs? && @here.match?(/\A! SyntaxError \S+\.rb:\d+: /)
  def refusal = @here.lines.first.sub(/\A! SyntaxError \S+?:\d+: /, "").strip
end

# Makes a program smaller as long as it differs.
class Shrink
  LITTLE = %w[nil 1 true].freeze

  def initialize(pair)
    @pair = pair
  end

  def call(tree)
    40.times do
      candidates = smaller(tree).uniq(&:to_s).sort_by { |c| c.to_s.size }.first(60)
      results = @pair.run(candidates.map(&:to_s)).map { |there, here| Result.new(there, here) }
      best = candidates.zip(results).find { |_, result| result.differs? && !result.refused? }
      return tree unless best
      tree = best.first
    end
    tree
  end

  private

  def smaller(tree)
    count = 0
    tree.each { count += 1 }
    (0...count).flat_map { |index| variants(tree, index) }.select { |c| c.to_s.size < tree.to_s.size }
  end

  # What the node at an index may become: nothing, something little, or a part of itself.
  def variants(tree, index)
    node = nth(tree, index)
    made = []
    case node.kind
    when :statement, :statements, :fixed
      made << changed(tree, index) { |n| n.parts = [] }
      node.parts.grep(Node).each_with_index do |part, i|
        next unless %i[statement statements].include?(part.kind) && %i[statement statements].include?(node.kind)
        made << changed(tree, index) { |n| n.parts = [n.parts.grep(Node)[i]] }
      end
    when :value
      LITTLE.each { |text| made << changed(tree, index) { |n| n.parts = [text] } }
      node.parts.grep(Node).each_with_index do |part, i|
        made << changed(tree, index) { |n| n.parts = [n.parts.grep(Node)[i]] } if part.kind == :value
      end
    end
    made
  end

  def nth(tree, index)
    tree.each { |node| return node if (index -= 1) < 0 }
  end

  def changed(tree, index)
    copy = tree.copy
    yield nth(copy, index)
    copy
  end
end

runner = ENV.fetch("LANGUAGE_RUNNER")
pair = Pair.new(runner)
random = Random.new(options[:seed])
generate = Generate.new(random, options[:only] || Generate::THEMES)
deadline = options[:minutes] && Process.clock_gettime(Process::CLOCK_MONOTONIC) + options[:minutes] * 60
done = valid = differ = 0
refusals = Hash.new(0)
seen = {}
$stdout.sync = true
puts "seed #{options[:seed]}"
loop do
  break if options[:programs] && done >= options[:programs]
  break if deadline && Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
  break if seen.size >= options[:most]
  trees = Array.new([150, (options[:programs] || 1e9) - done].min) { generate.program }
  results = pair.run(trees.map(&:to_s)).map { |there, here| Result.new(there, here) }
  done += trees.size
  valid += results.count(&:program?)
  trees.zip(results) do |tree, result|
    next unless result.differs?
    next refusals[result.refusal] += 1 if result.refused?
    differ += 1
    small = Shrink.new(pair).call(tree)
    there, here = pair.run([small.to_s]).first
    unless Result.new(there, here).differs?
      puts "", "-- one program differed once, and not again: #{result.here.lines.last}"
      next
    end
    # The same difference again, with other numbers and values.
    key = [small.to_s.gsub(/\d+/, "0").lines.uniq.join, here.to_s.lines.last.to_s.gsub(/\d+/, "0")].join
    next if seen[key]
    seen[key] = true
    break if seen.size > options[:most]
    puts "", "-- difference #{seen.size}", small.to_s.gsub(/^\s*\n/, ""), "-- CRuby #{RUBY_VERSION}:", there,
      "-- here:", here
  end
end
puts "", "#{done} programs, #{valid} of them valid; #{differ} differ, #{seen.size} kinds"
refusals.sort_by { |_, count| -count }.each { |what, count| puts "refused: #{count} x #{what}" }
exit 1 if differ.positive?
