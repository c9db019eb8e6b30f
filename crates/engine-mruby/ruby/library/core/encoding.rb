# The names of encodings, and conversion between the few that matter on the wire. A String is UTF-8 or BINARY
# (ruby/text.rb); the other encodings exist as constants and as sources of a conversion.

class EncodingError < StandardError; end

class Encoding
  class CompatibilityError < EncodingError; end
  class UndefinedConversionError < EncodingError; end
  class InvalidByteSequenceError < EncodingError; end
  class ConverterNotFoundError < EncodingError; end

  attr_reader :name, :names
  alias to_s name

  def initialize(name, *others)
    @name = name
    @names = [name, *others]
    # Whether `encode` reads the encoding, though no String is marked with it.
    @foreign = name.start_with?("ISO-8859", "Windows", "UTF-16")
  end

  def inspect = "#<Encoding:#{name}>"
  def ascii_compatible? = !__utf16? && !dummy?
  def dummy? = name == "ISO-2022-JP"
  def __utf16? = name.start_with?("UTF-16")
  def __foreign? = @foreign

  UTF_8 = new("UTF-8", "CP65001")
  BINARY = ASCII_8BIT = new("ASCII-8BIT", "BINARY")
  US_ASCII = ASCII = new("US-ASCII", "ASCII", "ANSI_X3.4-1968", "646")
  ISO_8859_1 = ISO8859_1 = new("ISO-8859-1", "ISO8859-1")
  WINDOWS_1252 = new("Windows-1252", "CP1252")
  UTF_16LE = new("UTF-16LE")
  UTF_16BE = new("UTF-16BE")
  ISO_2022_JP = new("ISO-2022-JP", "ISO2022-JP")
  # Encodings in which every byte is a character, and the last code of those that have fewer than Unicode.
  LATIN = %w[ISO-8859-1 Windows-1252].freeze
  LAST = { "US-ASCII" => 127, "ISO-8859-1" => 255, "Windows-1252" => 255, "ASCII-8BIT" => 127 }.freeze
  # The characters of the bytes 128 to 159 in Windows-1252; a NUL for a byte that has none.
  WINDOWS = "€\0‚ƒ„…†‡ˆ‰Š‹Œ\0Ž\0\0‘’“”•–—˜™š›œ\0žŸ".freeze
  LIST = [BINARY, UTF_8, US_ASCII, ISO_8859_1, WINDOWS_1252, UTF_16LE, UTF_16BE, ISO_2022_JP].freeze

  class << self
    attr_accessor :default_internal
    def default_external = UTF_8
    def default_external=(_encoding); end
    def list = LIST.dup
    def name_list = LIST.flat_map(&:names)

    # The encoding of two texts joined; nil where they cannot be joined.
    def compatible?(left, right)
      return left == right ? left : nil unless left.is_a?(String) && right.is_a?(String)
      return left.encoding if left.encoding == right.encoding || right.ascii_only?
      left.ascii_only? ? right.encoding : nil
    end

    def find(name)
      __known(name) || raise(ArgumentError, "unknown encoding name - #{name}")
    end
    alias [] find

    # The encoding of a name; nil for a name that is not known.
    def __known(name)
      return name if name.is_a?(Encoding)
      wanted = name.to_s.upcase
      return UTF_8 if %w[LOCALE EXTERNAL FILESYSTEM].include?(wanted)
      LIST.find { |one| one.names.any? { |its| its.upcase == wanted } }
    end
  end

  # The search for a conversion path, by which REXML and others learn whether they can read an encoding. Converters
  # themselves do not exist.
  class Converter
    # The steps from one encoding to another, which lead over UTF-8.
    def self.search_convpath(from, to, **)
      ends = [from, to].map { |name| Encoding.__known(name) }
      unless ends.all? && ends[0] != ends[1] && !ends[1].__utf16? && ends.none?(&:dummy?)
        raise ConverterNotFoundError, "code converter not found (#{from} to #{to})"
      end
      ends.include?(UTF_8) ? [ends] : [[ends[0], UTF_8], [UTF_8, ends[1]]]
    end

    def initialize(*, **)
      raise NotImplementedError, "Encoding::Converter.new: #{FoolsGold::HINT}"
    end
  end
end

class String
  XML = { "&" => "&amp;", "<" => "&lt;", ">" => "&gt;", "\"" => "&quot;" }.freeze

  # Converts from one encoding to another; an Encoding::ConverterNotFoundError for those that are not there. `fallback`
  # says what stands for a character that the target does not have: a Hash, a callable, or any object with `[]`.
  def encode(to = (own = encoding), from = nil, invalid: nil, replace: nil, xml: nil, fallback: nil, **options)
    from ||= FoolsGold.noted_encoding(self) unless own
    names = [to, from || encoding].map { |name| name.is_a?(Encoding) ? name : FoolsGold.string(name) }
    to, from = names.map { |name| Encoding.__known(name) }
    unless to && from && (to == from || __convertible?(to, from))
      names = names.reverse.join(" to ")
      raise Encoding::ConverterNotFoundError, "code converter not found (#{names}). #{FoolsGold::HINT}"
    end
    text = __encode(to, from, invalid == :replace, options[:undef] == :replace || fallback, replace, xml)
    newline = options[:newline]
    text = text.gsub(/\r\n?/, "\n") if options[:universal_newline] || newline == :universal
    text = text.gsub("\n", "\r\n") if options[:crlf_newline] || newline == :crlf
    text = text.gsub("\n", "\r") if options[:cr_newline] || newline == :cr
    xml == :attr ? "\"#{text}\"" : text
  end

  # The text in one of Unicode's normal forms.
  def unicode_normalize(form = :nfc) = FoolsGold::Native.text_normalize(__unicode, form)
  def unicode_normalize!(form = :nfc) = replace(unicode_normalize(form))
  def unicode_normalized?(form = :nfc) = FoolsGold::Native.text_normalize(__unicode, form, true)

  def __unicode
    return self if !__binary? || ascii_only?
    raise Encoding::CompatibilityError, "Unicode Normalization not appropriate for #{encoding}"
  end

  def encode!(*args, **options)
    FoolsGold.refuse_change(self, String) if frozen?
    replace(encode(*args, **options))
  end

  # A String cannot be marked as UTF-16, and ISO-2022-JP is known only as far as it is ASCII.
  def __convertible?(to, from)
    return false if to.__utf16?
    !(to.dummy? || from.dummy?) || (ascii_only? && !include?("\e"))
  end

  # Converts to UTF-8 first, and from there to the target. `unknown` is true to replace characters that the target does
  # not have, or the `fallback` of `encode`.
  def __encode(to, from, invalid, unknown, replacement, xml)
    text = String.new(self)
    default = to == Encoding::UTF_8 ? "\u{fffd}" : "?"
    for_invalid = invalid ? replacement || default : nil
    for_unknown = unknown == true ? replacement || default : unknown
    text, from = text.__from_utf16(from, for_invalid), Encoding::UTF_8 if from.__utf16? && to != from
    text = text.gsub(xml == :attr ? /[&<>"]/ : /[&<>]/, XML) if xml
    if to == from
      text.__binary!(to == Encoding::BINARY)
      return invalid && !text.valid_encoding? ? text.scrub(replacement || "\u{fffd}") : text
    end
    # ASCII is the same in all encodings that are compatible with it.
    return text.__binary!(to == Encoding::BINARY) if text.ascii_only?
    if Encoding::LATIN.include?(from.name)
      text = FoolsGold::Native.text_widen(text)
      text = text.__from_windows(to, for_unknown) if from == Encoding::WINDOWS_1252
    elsif from == Encoding::BINARY
      text = text.__from_bytes(to, for_unknown)
    else
      text.__binary!(false)
      text = text.__only_valid(for_invalid)
    end
    text.__narrow(to, for_unknown, xml)
  end

  # What stands for a character that the target does not have; nil where there is nothing.
  def __instead(replacement, char, to)
    return replacement if replacement.nil? || replacement.is_a?(String)
    found = replacement.respond_to?(:call) ? replacement.call(char) : replacement[char]
    found && FoolsGold.string(found).encode(to)
  end

  def __from_bytes(to, replacement)
    by_utf8 = to == Encoding::UTF_8 ? "UTF-8" : "UTF-8 to #{to}"
    bytes.map do |byte|
      next byte.chr if byte < 128
      known = __instead(replacement, byte.chr, to)
      next known if known
      raise Encoding::UndefinedConversionError, "\"\\x#{byte.to_s(16).upcase}\" from ASCII-8BIT to #{by_utf8}"
    end.join.__binary!(false)
  end

  def __from_utf16(from, replacement)
    made = FoolsGold::Native.text_from_utf16(self, from == Encoding::UTF_16BE, replacement)
    return made if made.is_a?(String)
    bad = byteslice(made, 2).b
    shown = bad.bytesize == 1 ? "incomplete #{bad.inspect}" : bad.inspect
    raise Encoding::InvalidByteSequenceError, "#{shown} on #{from}"
  end

  # The bytes 128 to 159 have been read as ISO-8859-1, where they are control characters.
  def __from_windows(to, replacement)
    gsub(/[\u0080-\u009f]/) do |char|
      known = Encoding::WINDOWS[char.ord - 128]
      next known unless known == "\0"
      known = __instead(replacement, char.ord.chr, to)
      next known if known
      shown = "\"\\x#{char.ord.to_s(16).upcase}\""
      steps = to == Encoding::UTF_8 ? "UTF-8" : "UTF-8 to #{to}"
      raise Encoding::UndefinedConversionError, "#{shown} to UTF-8 in conversion from Windows-1252 to #{steps}"
    end
  end

  def __only_valid(replacement)
    return self if valid_encoding?
    return scrub(replacement) if replacement
    _, bad = FoolsGold::Native.text_split(self).find { |_, bytes| !bytes.empty? }
    good, = FoolsGold::Native.text_split(self).first
    after = byteslice(good.bytesize + bad.bytesize, 1)
    shown = bad.b.inspect
    # CRuby's messages tell a character that is cut off at the end from one that is followed by a wrong byte.
    raise Encoding::InvalidByteSequenceError, "incomplete #{shown} on UTF-8" if after.empty? && bad.__begins_character?
    shown += " followed by #{after.b.inspect}" if bad.__begins_character?
    raise Encoding::InvalidByteSequenceError, "#{shown} on UTF-8"
  end

  def __begins_character? = (0xc2..0xf4).cover?(getbyte(0))

  def __narrow(to, replacement, xml)
    most = Encoding::LAST[to.name]
    return self if most.nil? || ascii_only?
    windows = to == Encoding::WINDOWS_1252
    made = each_char.map do |char|
      next char if char.ord < 128
      at = windows ? Encoding::WINDOWS.index(char) : nil
      next (at + 128).chr if at
      next char.ord.chr if char.ord <= most && !(windows && char.ord < 160)
      next "&#x#{char.ord.to_s(16).upcase};" if xml
      known = __instead(replacement, char, to)
      next known if known
      raise Encoding::UndefinedConversionError, "U+#{char.ord.to_s(16).upcase.rjust(4, '0')} from UTF-8 to #{to}"
    end.join
    to == Encoding::BINARY ? made.__binary!(true) : made
  end
end
