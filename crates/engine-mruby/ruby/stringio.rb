# StringIO, and the request's body, which reads like one.

module FoolsGold
  # Reading by bytes over anything that has `slice_at(position, length)` and `size`.
  module Reading
    LINE_BYTES = 8192

    def read(length = nil, buffer = nil)
      opened!
      data = length ? read_some(length) : read_rest
      return replaced(buffer, data) if buffer
      data
    end

    def gets(separator = "\n", limit = nil, chomp: false)
      opened!
      separator, limit = "\n", separator if separator.is_a?(Integer)
      return (rest = read_rest).empty? ? nil : rest if separator.nil? && limit.nil?
      line = take_line(separator, limit)
      line = line.chomp(separator) if line && chomp
      line
    end

    def each(*args, **options)
      return to_enum(:each, *args) unless block_given?
      while (line = gets(*args, **options))
        yield line
      end
      self
    end
    alias each_line each

    def readlines(*args)
      each(*args).to_a
    end

    def readline(*args)
      gets(*args) || raise(EOFError, "end of file reached")
    end

    def readpartial(length, buffer = nil)
      read(length, buffer) || raise(EOFError, "end of file reached")
    end
    alias sysread readpartial
    alias read_nonblock readpartial

    def getbyte
      byte = read(1)
      byte && byte.getbyte(0)
    end

    def getc
      read(1)
    end

    def each_byte
      while (byte = getbyte)
        yield byte
      end
      self
    end

    def rewind
      @position = 0
      0
    end

    def pos
      @position
    end
    alias tell pos

    def pos=(position)
      raise Errno::EINVAL, position.to_s if position < 0
      @position = position
    end

    def seek(offset, whence = 0)
      base = { 0 => 0, 1 => @position, 2 => size, :SET => 0, :CUR => @position, :END => size }.fetch(whence)
      self.pos = base + offset
      0
    end

    def eof?
      @position >= size
    end
    alias eof eof?

    def close
      @closed = true
      nil
    end

    def closed?
      @closed ? true : false
    end

    def binmode
      self
    end

    def set_encoding(*)
      self
    end

    def external_encoding
      nil
    end

    def sync
      true
    end

    def sync=(value)
      value
    end

    def fileno
      nil
    end

    def tty?
      false
    end
    alias isatty tty?

    private

    def opened!
      raise IOError, "not opened for reading" if @closed
    end

    def replaced(buffer, data)
      buffer.replace(data || "")
      data && buffer
    end

    def read_rest
      data = ""
      until (part = slice_at(@position, 1 << 20)).empty?
        @position += part.bytesize
        data << part
      end
      data
    end

    def read_some(length)
      raise ArgumentError, "negative length #{length} given" if length < 0
      return "" if length == 0
      data = ""
      while length > 0 && !(part = slice_at(@position, length)).empty?
        @position += part.bytesize
        length -= part.bytesize
        data << part
      end
      data.empty? ? nil : data
    end

    def take_line(separator, limit)
      paragraph = separator == ""
      separator = paragraph ? "\n\n" : separator
      line = ""
      until (part = slice_at(@position, LINE_BYTES)).empty?
        line << part
        stop = separator && (at = line.byteindex(separator)) ? at + separator.bytesize : nil
        stop = limit if limit && (stop ? limit < stop : line.bytesize >= limit)
        @position += part.bytesize
        next unless stop
        @position -= line.bytesize - stop
        return line.byteslice(0, stop)
      end
      line.empty? ? nil : line
    end
  end

  # rack.input: the request's body, complete, read from memory or from a file.
  class Input
    include Reading

    def initialize
      @position = 0
      @size = nil
    end

    def size
      @size ||= Native.input_size
    end

    private

    def slice_at(position, length)
      Native.input_read(position, length)
    end
  end
end

class StringIO
  include FoolsGold::Reading
  include Enumerable

  attr_reader :string

  def self.open(*args)
    io = new(*args)
    block_given? ? yield(io) : io
  end

  def initialize(string = "", mode = nil)
    @string = string
    @position = 0
    @closed = false
    @append = mode.to_s.start_with?("a")
  end

  def string=(string)
    @position = 0
    @string = string
  end

  def size
    @string.bytesize
  end
  alias length size

  def write(*texts)
    raise IOError, "not opened for writing" if @closed || @string.frozen?
    texts.sum { |text| put(text.to_s) }
  end

  def <<(text)
    write(text)
    self
  end

  def print(*texts)
    write(*texts)
    nil
  end

  def puts(*things)
    write("\n") if things.empty?
    things.each do |thing|
      next puts(*thing) if thing.is_a?(Array)
      line = thing.to_s
      write(line.end_with?("\n") ? line : "#{line}\n")
    end
    nil
  end

  def printf(form, *values)
    write(format(form, *values))
    nil
  end

  def truncate(length)
    @string.replace(@string.byteslice(0, length))
    0
  end

  def ungetc(text)
    @position = [@position - text.bytesize, 0].max
    nil
  end

  def reopen(string = "", *)
    initialize(string)
    self
  end

  def close_read
    nil
  end

  def close_write
    nil
  end

  def flush
    self
  end

  private

  def slice_at(position, length)
    position >= @string.bytesize ? "" : @string.byteslice(position, length)
  end

  def put(text)
    @position = @string.bytesize if @append
    if @position >= @string.bytesize
      @string << ("\0" * (@position - @string.bytesize)) << text
    else
      rest = @string.byteslice(@position + text.bytesize, @string.bytesize) || ""
      @string.replace(@string.byteslice(0, @position) + text + rest)
    end
    @position += text.bytesize
    text.bytesize
  end
end
