# The methods of StringScanner that need no C; the others are in c/scanner.c.

class StringScanner
  class Error < StandardError; end

  Version = "3.0.9"
  Id = "$Id$"

  def self.must_C_version
    self
  end

  # The flags are: move the position, return the text (else its length), and match only here (else search).
  def scan(pattern) = __scan(pattern, true, true, true)
  def match?(pattern) = __scan(pattern, false, false, true)
  def skip(pattern) = __scan(pattern, true, false, true)
  def check(pattern) = __scan(pattern, false, true, true)
  def scan_full(pattern, advance, text) = __scan(pattern, advance, text, true)
  def scan_until(pattern) = __scan(pattern, true, true, false)
  def exist?(pattern) = __scan(pattern, false, false, false)
  def skip_until(pattern) = __scan(pattern, true, false, false)
  def check_until(pattern) = __scan(pattern, false, true, false)
  def search_full(pattern, advance, text) = __scan(pattern, advance, text, false)

  # `__matched` and `__unmatched` set the last match as a pattern would.
  def getch
    return __unmatched if eos?
    __matched(pos, pos + string.__char_size(pos))
  end

  def get_byte
    return __unmatched if eos?
    __matched(pos, pos + 1)
  end

  def scan_byte
    byte = peek_byte
    get_byte
    byte
  end

  def peek_byte
    string.getbyte(pos)
  end

  def peek(length)
    string.byteslice(pos, length) || ""
  end

  def rest
    string.byteslice(pos, string.bytesize) || ""
  end

  def rest_size
    [string.bytesize - pos, 0].max
  end

  def rest?
    !eos?
  end

  def reset
    self.pos = 0
    __unmatched
    self
  end

  def terminate
    self.pos = string.bytesize
    __unmatched
    self
  end

  def beginning_of_line?
    pos == 0 || string.getbyte(pos - 1) == 10
  end
  alias bol? beginning_of_line?

  def charpos
    string.byteslice(0, pos).length
  end

  def concat(text)
    string << text
    self
  end
  alias << concat

  alias pointer pos
  alias pointer= pos=

  def matched?
    !matched.nil?
  end

  def matched_size
    matched&.bytesize
  end

  alias size __groups

  def captures
    __groups && (1...__groups).map { |group| self[group] }
  end

  def values_at(*groups)
    __groups && (0...__groups).map { |group| self[group] }.values_at(*groups)
  end

  def named_captures
    pattern = __pattern
    return {} unless pattern.is_a?(Regexp)
    pattern.names.map { |name| [name, matched? ? self[name] : nil] }.to_h
  end

  def inspect
    return "#<StringScanner fin>" if eos?
    after = rest_size > 5 ? "#{peek(5)}..." : rest
    return "#<StringScanner #{pos}/#{string.bytesize} @ #{after.inspect}>" if pos == 0
    before = pos > 5 ? "...#{string.byteslice(pos - 5, 5)}" : string.byteslice(0, pos)
    "#<StringScanner #{pos}/#{string.bytesize} #{before.inspect} @ #{after.inspect}>"
  end
end

# The name of older versions, which CRuby still has.
ScanError = StringScanner::Error
