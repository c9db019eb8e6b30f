# Encoding: names for what is not there. A String is bytes that are read as UTF-8; its `encoding` is UTF-8 where they
# are that, and BINARY where they are not.

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
  end

  def inspect = "#<Encoding:#{self == BINARY ? 'BINARY (ASCII-8BIT)' : name}>"
  def ascii_compatible? = !name.start_with?("UTF-16", "UTF-32")
  def dummy? = name == "ISO-2022-JP"

  UTF_8 = new("UTF-8", "CP65001")
  BINARY = ASCII_8BIT = new("ASCII-8BIT", "BINARY")
  US_ASCII = ASCII = new("US-ASCII", "ASCII", "ANSI_X3.4-1968", "646")
  ISO_8859_1 = ISO8859_1 = new("ISO-8859-1", "ISO8859-1")
  WINDOWS_1252 = new("Windows-1252", "CP1252")
  UTF_16LE = new("UTF-16LE")
  UTF_16BE = new("UTF-16BE")
  ISO_2022_JP = new("ISO-2022-JP", "ISO2022-JP")
  LIST = [BINARY, UTF_8, US_ASCII, ISO_8859_1, WINDOWS_1252, UTF_16LE, UTF_16BE, ISO_2022_JP].freeze

  class << self
    attr_accessor :default_internal
    def default_external = UTF_8
    def default_external=(_encoding); end
    def list = LIST.dup
    def name_list = LIST.flat_map(&:names)
    def compatible?(_left, _right) = UTF_8

    def find(name)
      return name if name.is_a?(Encoding)
      wanted = name.to_s.upcase
      return UTF_8 if %w[LOCALE EXTERNAL FILESYSTEM].include?(wanted)
      LIST.find { |one| one.names.any? { |its| its.upcase == wanted } } ||
        raise(ArgumentError, "unknown encoding name - #{name}")
    end
    alias [] find
  end
end
