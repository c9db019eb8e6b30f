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
