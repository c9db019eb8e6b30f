# StringIO: a String that reads and writes like a file, by bytes.

class StringIO
  include FoolsGold::Reading
  include FoolsGold::Writing
  include Enumerable

  attr_reader :string

  def self.open(*args)
    io = new(*args)
    block_given? ? yield(io) : io
  end

  def initialize(string = "", mode = nil)
    string = string.to_str if !string.is_a?(String) && string.respond_to?(:to_str)
    raise TypeError, "no implicit conversion of #{string.class} into String" unless string.is_a?(String)
    mode = mode.to_s
    @string = string
    @position = @lineno = 0
    @closed = false
    @append = mode.start_with?("a")
    @readable = !mode.start_with?("w", "a") || mode.include?("+")
    @writable = mode.empty? ? !string.frozen? : !mode.start_with?("r") || mode.include?("+")
    raise Errno::EACCES, "Permission denied" if string.frozen? && @writable
    string.replace("") if mode.start_with?("w")
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
    raise IOError, "not opened for writing" if @closed || !@writable || @string.frozen?
    texts.sum { |text| put(text.to_s) }
  end
  alias syswrite write
  def write_nonblock(text, *, **) = write(text)

  def truncate(length)
    @string.replace(@string.byteslice(0, length))
    0
  end

  # Before what comes next, over what was read.
  def ungetbyte(bytes)
    text = bytes.is_a?(Integer) ? (bytes & 255).chr : bytes.to_s.b
    rest = @string.byteslice(@position, @string.bytesize) || ""
    kept = @string.byteslice(0, [@position - text.bytesize, 0].max)
    @string.replace(kept + text.force_encoding(@string.encoding) + rest)
    @position = kept.bytesize
    nil
  end

  def ungetc(char) = char.nil? ? nil : ungetbyte(char.is_a?(Integer) ? [char].pack("U") : char)

  def pread(length, offset)
    part = slice_at(offset, length)
    raise EOFError, "end of file reached" if part.empty? && length > 0
    part.b
  end

  def each_codepoint(&block) = each_char.map(&:ord).each(&block)
  def fsync = 0
  def pid = nil
  def closed? = @closed || (!@readable && !@writable)
  def closed_read? = @closed || !@readable
  def closed_write? = @closed || !@writable

  def reopen(string = "", *)
    initialize(string)
    self
  end

  def close_read
    raise IOError, "closing non-duplex IO for reading" unless @readable
    @readable = false
    nil
  end

  def close_write
    raise IOError, "closing non-duplex IO for writing" unless @writable
    @writable = false
    nil
  end

  def flush
    self
  end

  private

  def opened!
    raise IOError, "not opened for reading" if @closed || !@readable
  end

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
