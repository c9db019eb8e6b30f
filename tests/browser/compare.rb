# What two servers showed, side by side.

# Differences that are known, with the reason for each: mode, step, what was seen (a pattern), why.
EXPLAINED = [
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
      puts format("  %-#{width}s  %4.1fs  %4.1fs  %5d  %s", step, seconds(@theirs, step), seconds(@ours, step), keys(step).size, verdict)
    end
    figures
    differences.each do |one|
      puts "", "#{one.reason ? "explained" : "DIFFERENT"}: #{@mode}, #{one.step}, #{one.key}"
      puts "  (#{one.reason})" if one.reason
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
        next if same?(theirs, ours) && key != Script::ERROR

        theirs, ours = apart(theirs, ours)
        Difference.new(@mode, step, key, theirs, ours, reason(step, key, theirs, ours))
      end
    end
  end

  def same?(theirs, ours)
    return ours.value <= theirs.value + ours.slack if theirs.is_a?(Figure) && ours.is_a?(Figure)

    theirs == ours
  end

  # Of two tables, only where they differ.
  def apart(theirs, ours)
    return [theirs, ours] unless theirs.is_a?(Hash) && ours.is_a?(Hash)

    same = theirs.keys.select { |key| theirs[key] == ours[key] }
    [theirs.except(*same), ours.except(*same)]
  end

  def reason(step, key, theirs, ours)
    EXPLAINED.find do |known|
      [known[:mode].nil? || known[:mode] == @mode, known[:step].nil? || known[:step] === step, known[:key] === key,
        known[:theirs].nil? || known[:theirs] === show(theirs), known[:ours].nil? || known[:ours] === show(ours)].all?
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

  def show(value) = value.is_a?(String) ? value.inspect : value.is_a?(Figure) ? value.to_s : value.inspect
end
