# A String is UTF-8 or bytes (ASCII-8BIT), where each byte is a character (c/bytes.c). There are no other encodings:
# `force_encoding` with another name makes it UTF-8, and an `encode` that follows converts from that encoding.

class String
  def encoding = __binary? ? Encoding::BINARY : Encoding::UTF_8

  def force_encoding(encoding)
    FoolsGold.refuse_change(self, String) if frozen?
    encoding = Encoding.find(encoding)
    __binary!(encoding == Encoding::BINARY)
    FoolsGold.note_encoding(self, encoding)
    self
  end

  def valid_encoding? = __binary? || FoolsGold::Native.text_kind(self) != 0
  def ascii_only? = FoolsGold::Native.text_kind(self) == 1
  def b = String.new(self).__binary!(true)

  def chars(&block)
    block ? __chars.each(&block) && self : __chars
  end

  def each_char(&block)
    return to_enum(:each_char) unless block
    __chars.each(&block)
    self
  end

  # The methods without the exclamation mark are native, and map all letters of Unicode.
  def upcase!(*options) = __become(upcase(*options))
  def downcase!(*options) = __become(downcase(*options))
  def swapcase!(*options) = __become(swapcase(*options))
  def capitalize!(*options) = __become(capitalize(*options))
  def tr!(from, to) = __become(tr(from, to))
  def tr_s!(from, to) = __become(tr_s(from, to))
  def delete!(*sets) = __become(delete(*sets))
  def squeeze!(*sets) = __become(squeeze(*sets))

  # mruby's own methods remove as many characters as the prefix or suffix has bytes, so that two letters behind a byte
  # order mark were lost with it.
  def delete_prefix(prefix)
    prefix = FoolsGold.string(prefix)
    start_with?(prefix) ? byteslice(prefix.bytesize, bytesize) : String.new(self)
  end

  def delete_prefix!(prefix) = __become(delete_prefix(prefix))
  def delete_suffix(suffix) = end_with?(suffix) ? byteslice(0, bytesize - suffix.bytesize) : dup
  def delete_suffix!(suffix) = __become(delete_suffix(suffix))

  # The base is that of a prefix such as `0x`, else 8.
  def oct = to_i({ "x" => 16, "d" => 10, "b" => 2 }.fetch(self[/\A\s*[-+]?0([xdb])/i, 1].to_s.downcase, 8))

  # An empty separator means paragraphs. The text is copied, since the block may change the String.
  def each_line(separator = "\n", chomp: false, &block)
    return lines(separator, chomp: chomp).each unless block
    text = dup
    rest = separator.nil? ? nil : separator.empty? ? /\n{2,}/ : separator
    from = 0
    while from < text.bytesize
      found = rest && text.byteslice(from, text.bytesize)
      at = found && (rest.is_a?(String) ? found.byteindex(rest) : (found =~ rest && $~.byteoffset(0)[0]))
      size = at ? (rest.is_a?(String) ? rest.bytesize : 2) : 0
      line = at ? found.byteslice(0, at + size) : text.byteslice(from, text.bytesize)
      from = at ? from + at + (rest.is_a?(String) ? size : $~[0].bytesize) : text.bytesize
      # A single line feed at the end of the text ends no paragraph.
      line = line.chomp(separator) if chomp && separator && (!separator.empty? || line.end_with?("\n\n"))
      block.call(line)
    end
    self
  end

  def lines(*args, **options, &block)
    found = []
    each_line(*args, **options) { |line| found << line }
    block ? found.each(&block) && self : found
  end

  def %(values)
    values = Kernel === values && FoolsGold.listed(values) || [values] unless Array === values
    FoolsGold.format(self, values)
  end

  # The String with a new text; nil where that is the same. A frozen one is refused then too, as in CRuby.
  def __become(other)
    FoolsGold.refuse_change(self, String) if frozen?
    self == other ? nil : replace(other)
  end

  def scrub(replacement = "\u{fffd}")
    replacement = "\u{fffd}" if replacement.nil?
    return dup if valid_encoding?
    return FoolsGold::Native.text_scrub(self, replacement) unless block_given?
    FoolsGold::Native.text_split(self).map { |good, bad| bad.empty? ? good : good + yield(bad) }.join
  end

  def scrub!(*args, &block) = replace(scrub(*args, &block))

  # The constant Encoding loads library/core/encoding.rb, which redefines these methods.
  def encode(*args, **options) = Encoding && encode(*args, **options)
  def encode!(*args, **options) = Encoding && encode!(*args, **options)
  def unicode_normalize(form = :nfc) = Encoding && unicode_normalize(form)
end

module FoolsGold
  class << self
    # A String cannot store an encoding such as ISO-8859-1. The last one that `force_encoding` gave to a String is kept
    # here, with the String's id and hash, for the `encode` that mostly follows.
    def note_encoding(text, encoding)
      if encoding.__foreign?
        @noted = [text.object_id, text.hash, encoding]
      elsif @noted && @noted[0] == text.object_id
        @noted = nil
      end
    end

    # The noted encoding of a String; nil where it has none, or has been changed since.
    def noted_encoding(text)
      @noted[2] if @noted && @noted[0] == text.object_id && @noted[1] == text.hash
    end
  end
end

class Integer
  alias __chr chr

  # Without the encoding UTF-8, a number above 127 is a byte.
  def chr(encoding = nil)
    return __chr unless encoding && Encoding.find(encoding) == Encoding::UTF_8
    [self].pack("U")
  end
end

class Symbol
  alias __inspect inspect

  # A Symbol of letters beyond ASCII needs no quotes.
  def inspect
    text = to_s
    return __inspect if text.ascii_only?
    text.match?(/\A[\p{L}_][\p{L}\p{N}_]*[?!=]?\z/) ? ":#{text}" : ":#{text.inspect}"
  end

  def encoding = to_s.encoding
end
