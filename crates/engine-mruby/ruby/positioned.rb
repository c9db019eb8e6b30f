# Where a reader stands, what an IO is asked beside, and what a writer makes of `write`: StringIO, the request's body
# and temporary files answer alike.

module FoolsGold
  # What all that has `write` answers.
  module Writing
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

    def putc(char)
      write(char.is_a?(Integer) ? (char & 255).chr : char.to_s[0])
      char
    end
  end

  # Needs `@position` and `size`.
  module Positioned
    def rewind
      @position = @lineno = 0
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
      @binary = true
      self
    end

    def set_encoding(encoding, *)
      @binary = encoding == Encoding::BINARY
      self
    end

    def external_encoding
      @binary ? Encoding::BINARY : Encoding::UTF_8
    end

    def internal_encoding
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
  end
end
