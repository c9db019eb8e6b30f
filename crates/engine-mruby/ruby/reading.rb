# Reading by bytes and lines: what StringIO and the request's body have in common.

module FoolsGold
  # Reading by bytes over anything that has `slice_at(position, length)` and `size`.
  module Reading
    include Positioned

    LINE_BYTES = 8192

    # All that is left ("" at the end), or at most `length` bytes (nil at the end), also put into `buffer`.
    def read(length = nil, buffer = nil)
      opened!
      data = length ? read_some(length) : read_rest
      return replaced(buffer, data) if buffer
      data
    end

    # The next line with its end, at most `limit` bytes of it; nil at the end of all. A separator of nil takes what is
    # left, "" a paragraph.
    def gets(separator = "\n", limit = nil, chomp: false)
      opened!
      separator, limit = "\n", separator if separator.is_a?(Integer)
      return (rest = read_rest).empty? ? nil : rest if separator.nil? && limit.nil?
      skip_newlines if separator == ""
      line = take_line(separator, limit)
      return nil unless line
      @lineno = lineno + 1
      skip_newlines if separator == ""
      chomp ? line.chomp(separator) : line
    end

    def each(*args, **options)
      return Enumerator.new { |lines| each(*args, **options) { |line| lines << line } } unless block_given?
      while (line = gets(*args, **options))
        yield line
      end
      self
    end
    alias each_line each

    def readlines(*args, **options)
      each(*args, **options).to_a
    end

    def readline(*args, **options)
      gets(*args, **options) || raise(EOFError, "end of file reached")
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
      opened!
      char = slice_at(@position, 4).__chars[0]
      @position += char.bytesize if char
      char
    end

    def each_char
      return to_enum(:each_char) unless block_given?
      while (char = getc)
        yield char
      end
      self
    end

    def readchar = getc || raise(EOFError, "end of file reached")
    def readbyte = getbyte || raise(EOFError, "end of file reached")
    def lineno = @lineno || 0
    attr_writer :lineno

    def each_byte
      return to_enum(:each_byte) unless block_given?
      while (byte = getbyte)
        yield byte
      end
      self
    end

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
      data.empty? ? nil : data.__binary!(true)
    end

    def skip_newlines
      @position += 1 while slice_at(@position, 1) == "\n"
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
end
