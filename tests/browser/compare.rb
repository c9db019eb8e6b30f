# What two servers showed, side by side.

# Differences that are known, with the reason for each: step, what was seen, and both values, as words or patterns.
EXPLAINED = [
  { key: /headers( of a picture)?\z/, theirs: "{}", ours: /\A\{"date" ?=> ?"\(there\)"\}\z/,
    why: "ours says the Date of an answer, as servers with a clock must (RFC 9110, 6.6.1); Puma leaves it to a proxy" },
  { step: "what has not changed", key: "answers",
    theirs: /\A(\[?\[304, "0", "public"\](, |\])?)+\z/, ours: /\A(\[?\[304, nil, "public"\](, |\])?)+\z/,
    why: "Puma gives a 304 the Content-Length 0, which would be that of the 200 (RFC 9110, 8.6)" },
  { step: "compressed and static files", key: "answers",
    theirs: /\A\[\["\/deflated", [^\]]*"gzip", nil, nil,[^\]]*\]\]\z/,
    ours: /\A\[\["\/deflated", [^\]]*"gzip", "\d+", nil,[^\]]*\]\]\z/,
    why: "of a body that is complete before its head is sent, ours says the length; Puma sends it in chunks" },
  { key: "sockets closed with", theirs: /1006.*false/, ours: /1001.*true/,
    why: "ours closes WebSockets with 1001, going away; Puma lets them drop" },
  { step: "the end", key: "exit status", theirs: '"signal 15"', ours: "0",
    why: "Puma dies of the signal at last (raise_exception_on_sigterm), ours ends with status 0 (docs/signals.md)" },
  { step: "the end", key: "exit status", theirs: '"does not end"', ours: "0",
    why: "a thread of Puma still serves somebody who does not go; ours ends after --drain-time at the latest" },
  { step: "the end", key: "sockets closed with", theirs: "false", ours: /1001.*true/,
    why: "a thread of Puma still serves somebody who does not go; ours ends after --drain-time at the latest" },
].freeze

class Comparison
  Difference = Struct.new(:mode, :step, :key, :theirs, :ours, :reason)

  # Both by step and key.
  def initialize(mode, theirs, ours)
    @mode = mode
    @theirs = theirs
    @ours = ours
  end

  def print
    puts "", "#{@mode.capitalize}: Puma and FoolsGold", ""
    width = steps.map(&:size).max
    puts format("  %-#{width}s  %5s  %5s  %5s  %s", "step", "Puma", "ours", "seen", "")
    steps.each do |step|
      found = differences.select { |one| one.step == step }
      verdict = found.empty? ? "the same" : words(found)
      numbers = [seconds(@theirs, step), seconds(@ours, step), keys(step).size]
      puts format("  %-#{width}s  %4.1fs  %4.1fs  %5d  %s", step, *numbers, verdict)
    end
    figures
    differences.select(&:reason).group_by(&:reason).each do |reason, ones|
      puts "", "explained: #{reason}", "  #{ones.map { |one| "#{one.step} (#{one.key})" }.join("; ")}"
    end
    unexplained.each do |one|
      puts "", "DIFFERENT: #{@mode}, #{one.step}, #{one.key}"
      puts "  Puma: #{show(one.theirs)}", "  ours: #{show(one.ours)}"
    end
  end

  # All that was seen.
  def print_all
    steps.each do |step|
      puts "", "#{@mode}, #{step}"
      (@theirs[step] || {}).keys.union((@ours[step] || {}).keys).each do |key|
        theirs, ours = [@theirs, @ours].map { |side| show(side.dig(step, key)) }
        puts(theirs == ours ? "  #{key}: #{ours}" : "  #{key}:\n    Puma: #{theirs}\n    ours: #{ours}")
      end
    end
  end

  def unexplained = differences.reject(&:reason)

  private

  def steps = @theirs.keys | @ours.keys

  def keys(step) = [@theirs, @ours].flat_map { |side| (side[step] || {}).keys }.grep(String).grep_v(/not compared/).uniq

  def seconds(side, step) = side.dig(step, :seconds) || 0

  def words(found)
    new = found.count { |one| !one.reason }
    new.zero? ? "the same but for #{found.size} explained" : "#{new} DIFFERENT"
  end

  def differences
    @differences ||= steps.flat_map do |step|
      keys(step).filter_map do |key|
        theirs, ours = @theirs.dig(step, key), @ours.dig(step, key)
        next if same?(theirs, ours) && key != Script::ERROR && !bad?(ours)

        theirs, ours = apart(theirs, ours)
        Difference.new(@mode, step, key, theirs, ours, reason(step, key, theirs, ours))
      end
    end
  end

  def same?(theirs, ours)
    return ours.value <= theirs.value + ours.slack if theirs.is_a?(Figure) && ours.is_a?(Figure)

    theirs == ours
  end

  # What should be true is not, or not for all: then it is no comfort that it is the same on both.
  def bad?(value) = value == false || (value.is_a?(Array) && value.include?(false) && (value - [true, false]).empty?)

  # Of two tables, or two lists of the same length, only where they differ.
  def apart(theirs, ours)
    return [theirs, ours] if theirs == ours || theirs.class != ours.class

    case theirs
    when Hash
      same = theirs.keys.select { |key| theirs[key] == ours[key] }
      [theirs.except(*same), ours.except(*same)]
    when Array
      return [theirs, ours] unless theirs.size == ours.size

      theirs.zip(ours).reject { |one, other| one == other }.transpose
    else [theirs, ours]
    end
  end

  def reason(step, key, theirs, ours)
    EXPLAINED.find do |known|
      (known[:step].nil? || known[:step] == step) && known[:key] === key &&
        known[:theirs] === show(theirs) && known[:ours] === show(ours)
    end&.fetch(:why)
  end

  def figures
    rows = steps.flat_map do |step|
      keys(step).filter_map do |key|
        theirs, ours = @theirs.dig(step, key), @ours.dig(step, key)
        "  #{step}, #{key}: Puma #{theirs || "-"}, ours #{ours || "-"}" if [theirs, ours].any?(Figure)
      end
    end
    puts "", "figures, where ours may be less but not more:", rows unless rows.empty?
  end

  def show(value) = value.is_a?(Figure) ? value.to_s : value.inspect
end
