# StringIO: reads and writes a String like a file, by bytes.

class StringIO
  include FoolsGold::Reading
  include FoolsGold::Writing
  include Enumerable

  attr_reader :string

  VERSION = "3.1.1"

  def self.open(*args, **options, &block)
    io = new(*args, **options)
    block ? FoolsGold.closing(io, :__forget, &block) : io
  end

  def initialize(string = +"", mode = nil, **options)
    raise ArgumentError, "mode specified twice" if mode && options[:mode]
    @string = String === string ? string : FoolsGold.string(string)
    @position = @lineno = 0
    @closed = @read_closed = @write_closed = false
    take_mode(mode || options[:mode])
    binmode if options[:binmode]
  end

  def string=(string)
    @string = FoolsGold.string(string)
    @writable = false if @string.frozen?
    @position = @lineno = 0
  end

  # Ends the use of the String after the block of `open`.
  def __forget
    @string = nil
    @closed = true
  end

  alias inspect to_s

  # The encoding that was set, else that of the String.
  def external_encoding = @encoding || @string.to_s.encoding

  # Sets the encoding of what is read, and that of a String that may be written.
  def set_encoding(encoding, *)
    name = encoding.is_a?(String) ? encoding.sub(/\ABOM\|/i, "").split(":").first : encoding
    @encoding = name.nil? ? Encoding.default_external : Encoding.find(name)
    return self unless [Encoding::UTF_8, Encoding::BINARY].include?(@encoding)
    @string.force_encoding(@encoding) if @string && @writable && !@string.frozen?
    @mark = @encoding
    self
  end

  def binmode = set_encoding(Encoding::BINARY)

  def size
    @string.bytesize
  end
  alias length size

  def write(*texts)
    writable!
    texts.sum { |text| put(text.to_s) }
  end
  alias syswrite write
  def write_nonblock(text, *, **) = write(text)

  def truncate(length)
    writable!
    raise Errno::EINVAL, "negative length" if length < 0
    more = length - @string.bytesize
    more > 0 ? @string << "\0" * more : @string.replace(@string.byteslice(0, length))
    0
  end

  def eof?
    opened!
    super
  end
  def eof = eof?

  # Puts bytes before the position, where they overwrite the bytes that were read.
  def ungetbyte(bytes)
    return if bytes.nil?
    opened!
    text = Integer === bytes ? (bytes & 255).chr : FoolsGold.string(bytes).b
    @string << "\0" * (@position - @string.bytesize) if @position > @string.bytesize
    rest = @string.byteslice(@position, @string.bytesize) || ""
    kept = @string.byteslice(0, [@position - text.bytesize, 0].max)
    @string.replace(kept + text.force_encoding(@string.encoding) + rest)
    @position = kept.bytesize
    nil
  end

  def ungetc(char) = ungetbyte(Integer === char ? [char].pack("U") : char)

  def pread(length, offset)
    part = slice_at(offset, length)
    raise EOFError, "end of file reached" if part.empty? && length > 0
    part.b
  end

  def each_codepoint
    return to_enum(:each_codepoint) unless block_given?
    while (char = getc)
      yield char.ord
    end
    self
  end

  # Skips a byte order mark at the beginning and sets its encoding; nil where there is none.
  def set_encoding_by_bom
    FoolsGold.refuse_change(self, StringIO) if frozen?
    marks = { Encoding::UTF_8 => "EFBBBF", Encoding::UTF_16LE => "FFFE", Encoding::UTF_16BE => "FEFF" }
    return unless @readable && @string
    encoding, mark = marks.find { |_, hex| @string.b.start_with?([hex].pack("H*")) }
    return unless encoding
    @position = mark.size / 2
    set_encoding(encoding)
    encoding
  end

  def fsync = 0
  def pid = nil
  def closed? = @closed || (!@readable && !@writable)
  def closed_read? = @closed || !@readable
  def closed_write? = @closed || !@writable

  def reopen(string = +"", *mode)
    if String === string || !mode.empty?
      initialize(string, *mode)
    else
      string = string.to_strio unless StringIO === string || !string.respond_to?(:to_strio)
      raise TypeError, "no implicit conversion of #{string.class} into StringIO" unless StringIO === string
      string.instance_variables.each { |name| instance_variable_set(name, string.instance_variable_get(name)) }
    end
    self
  end

  def close_read
    return if @read_closed
    raise IOError, "closing non-duplex IO for reading" unless @readable
    @read_closed = true
    @readable = false
    nil
  end

  def close_write
    return if @write_closed
    raise IOError, "closing non-duplex IO for writing" unless @writable
    @write_closed = true
    @writable = false
    nil
  end

  def flush
    self
  end

  private

  # Sets what may be done, by the letters or the bits of a mode.
  def take_mode(mode)
    if Integer === mode
      way, @append, empty = mode & 3, mode & File::APPEND != 0, mode & File::TRUNC != 0
      @readable, @writable = way != File::WRONLY, way != File::RDONLY
    else
      mode = mode.nil? ? "" : FoolsGold.string(mode)
      raise ArgumentError, "invalid access mode #{mode}" unless mode.empty? || mode.start_with?("r", "w", "a")
      @append, empty = mode.start_with?("a"), mode.start_with?("w")
      @readable = !mode.start_with?("w", "a") || mode.include?("+")
      @writable = mode.empty? ? !@string.frozen? : !mode.start_with?("r") || mode.include?("+")
      @encoding = @mark = Encoding::BINARY if mode.include?("b")
    end
    # A frozen String is read only, unless the mode asks for writing.
    raise Errno::EACCES if @string.frozen? && @writable
    @string.replace("") if empty
  end

  # As in CRuby, a paragraph includes all line feeds behind it.
  def end_paragraph(line)
    begun = @position
    super
    line << "\n" * (@position - begun)
  end

  def opened!
    raise IOError, "not opened for reading" if @closed || !@readable
  end

  def writable!
    raise IOError, "not opened for writing" if @closed || !@writable || @string.frozen?
  end

  # An empty part has the encoding of the String, too.
  def slice_at(position, length)
    part = @string.byteslice(position, length) || @string.byteslice(0, 0)
    @mark ? part.force_encoding(@mark) : part
  end

  def read_rest
    rest = slice_at(@position, [@string.bytesize - @position, 0].max)
    @position += rest.bytesize
    rest
  end

  # Writes at the position, over the bytes that follow it; a gap behind the end is filled with NUL bytes. As in CRuby
  # the String keeps its encoding, also if the text is bytes; in binary mode it becomes one of bytes.
  def put(text)
    binary = @string.__binary? || (@mark && @mark == Encoding::BINARY && !text.ascii_only?)
    @position = @string.bytesize if @append
    if @position >= @string.bytesize
      @string << ("\0" * (@position - @string.bytesize)) << text
    else
      rest = @string.byteslice(@position + text.bytesize, @string.bytesize) || ""
      @string.replace(@string.byteslice(0, @position) + text + rest)
    end
    @string.__binary!(binary)
    @position += text.bytesize
    text.bytesize
  end
end
