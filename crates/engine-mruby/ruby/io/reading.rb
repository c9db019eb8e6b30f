# Reading by bytes and lines, shared by StringIO, the request body, files and temporary files.

module FoolsGold
  # Methods that read, for any class with `slice_at(position, length)` and `size`.
  module Reading
    include Positioned

    # Fewest bytes of the first piece that is read for a line, and most bytes of each later one.
    LINE_BYTES = 64
    PIECE_BYTES = 1 << 20

    # Reads the rest ("" at the end), or at most `length` bytes (nil at the end); also into `buffer`.
    def read(length = nil, buffer = nil)
      opened!
      data = length ? read_some(Integer === length ? length : FoolsGold.integer(length)) : read_rest
      return replaced(buffer, data) if buffer
      data
    end

    # Reads the next line with its separator, at most `limit` bytes; nil at the end. The separator nil reads the rest,
    # "" a paragraph.
    def gets(separator = $/, limit = nil, chomp: false)
      opened!
      separator, limit = line_end(separator, limit) unless limit.nil? && String === separator
      $_ = next_line(separator, limit, chomp)
    end

    def each(separator = $/, limit = nil, chomp: false)
      return to_enum(:each, separator, limit, chomp: chomp) unless block_given?
      separator, limit = line_end(separator, limit)
      raise ArgumentError, "invalid limit: 0 for each_line" if limit == 0
      opened!
      while (line = next_line(separator, limit, chomp))
        yield line
      end
      self
    end
    alias each_line each

    def readlines(separator = $/, limit = nil, chomp: false)
      separator, limit = line_end(separator, limit)
      raise ArgumentError, "invalid limit: 0 for readlines" if limit == 0
      each(separator, limit, chomp: chomp).to_a
    end

    def readline(*args, **options)
      gets(*args, **options) || raise(EOFError, "end of file reached")
    end

    def readpartial(length = nil, buffer = nil)
      read(length, buffer) || raise(EOFError, "end of file reached")
    end
    alias sysread readpartial

    def read_nonblock(length = nil, buffer = nil, exception: true)
      exception ? readpartial(length, buffer) : read(length, buffer)
    end

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

    # Separator and limit from the arguments: a single argument may be either.
    def line_end(separator, limit)
      unless separator.nil? || String === separator
        if limit.nil? && !separator.respond_to?(:to_str)
          separator, limit = $/, separator
        else
          separator = FoolsGold.string(separator)
        end
      end
      limit = FoolsGold.integer(limit) if limit
      [separator, limit && limit < 0 ? nil : limit]
    end

    def next_line(separator, limit, chomp)
      # A limit of 0 reads nothing, even at the end.
      return slice_at(@position, 0) if limit == 0
      skip_newlines if separator == ""
      line = separator || limit ? take_line(separator, limit) : read_rest
      return nil if line.nil? || line.empty?
      @lineno = lineno + 1
      # Without a separator there is nothing to take off.
      return chomp && separator ? line.chomp(separator) : line unless separator == ""
      end_paragraph(line)
      # A single line feed at the end of the text ends no paragraph.
      chomp && line.end_with?("\n\n") ? line.chomp("") : line
    end

    def skip_newlines
      @position += 1 while slice_at(@position, 1) == "\n"
    end

    # Skips the line feeds behind a paragraph.
    def end_paragraph(_line) = skip_newlines

    # Reads pieces until one has the separator. The position is then set back behind it: a piece may hold more lines.
    # The first piece is twice as long as the previous line, and each later one as long as all pieces before it. So the
    # bytes that are read and searched are only a few times those of the lines, whether these are short or long.
    def take_line(separator, limit)
      separator = "\n\n" if separator == ""
      line = nil
      length = @line_piece || LINE_BYTES
      from = 0
      until (part = slice_at(@position, length)).empty?
        line = line ? line << part : part
        stop = separator && (at = line.byteindex(separator, from)) ? at + separator.bytesize : nil
        stop = limit if limit && (stop ? limit < stop : line.bytesize >= limit)
        @position += part.bytesize
        length = [line.bytesize, PIECE_BYTES].min
        # A separator may begin in one piece and end in the next.
        from = [line.bytesize - separator.bytesize + 1, 0].max if separator
        next unless stop
        stop = character_end(line, stop) if stop == limit && !line.__binary?
        @position -= line.bytesize - stop
        @line_piece = [2 * stop, LINE_BYTES].max
        return line.byteslice(0, stop)
      end
      line
    end

    # The position in a line where the character ends that a limit would cut, as in CRuby. First appends to the line
    # the bytes that this character may have behind the limit.
    def character_end(line, limit)
      more = slice_at(@position, 3)
      @position += more.bytesize
      line << more
      begun = limit
      begun -= 1 while begun > 0 && limit - begun < 3 && (line.getbyte(begun) || 0) & 0xc0 == 0x80
      begun == limit ? limit : [limit, begun + line.__char_size(begun)].max
    end
  end
end
