# Methods that StringIO, the request body, temporary files and the stream of a response share: those of a position, and
# those that write by `write`.

module FoolsGold
  # Methods for any class that has `write`.
  module Writing
    def <<(text)
      write(text)
      self
    end

    def print(*texts)
      texts << $_ if texts.empty?
      texts << $\ if $\
      write(*texts)
      nil
    end

    def puts(*things)
      write("\n") if things.empty?
      things.each { |thing| FoolsGold.put_line(self, thing) }
      nil
    end

    def printf(form, *values)
      write(format(form, *values))
      nil
    end

    def putc(char)
      write(String === char ? char[0] : (FoolsGold.integer(char) & 255).chr)
      char
    end
  end

  # Writes a line, or a line for each element of an Array. `lists` are the Arrays around it: one that contains itself is
  # written as "[...]".
  def self.put_line(out, thing, lists = nil)
    unless String === thing
      if (list = listed(thing))
        return out.write("[...]\n") if lists && lists.any? { |outer| outer.equal?(list) }
        lists = lists ? lists + [list] : [list]
        return list.each { |one| put_line(out, one, lists) }
      end
      line = thing.to_s
      thing = String === line ? line : Kernel.instance_method(:to_s).bind(thing).call
    end
    out.write(thing.end_with?("\n") ? thing : "#{thing}\n")
  end

  # Whether a file that is opened with this mode and these options holds bytes and not text. The encoding is compared by
  # its name, since the constant Encoding would load a library.
  def self.binary?(mode, options)
    name = encoding_in(mode, options)
    return %w[BINARY ASCII-8BIT].include?(name.split(":").first.to_s.upcase) unless name.empty?
    options[:binmode] || (String === mode && mode.include?("b")) ? true : false
  end

  # The name of the encoding in a mode such as "r:bom|utf-8", or in the options; empty where there is none.
  def self.encoding_in(mode, options)
    name = mode.split(":", 2)[1] if String === mode
    (name || options[:external_encoding] || options[:encoding]).to_s
  end

  # The encoding of a file's text, such as ISO-8859-1, and the encoding to convert it to (nil for none). Nil for a file
  # of UTF-8, ASCII or bytes, whose text needs no `encode`.
  def self.foreign(mode, options)
    from, to = encoding_in(mode, options).sub(/\Abom\|/i, "").split(":")
    return if from.nil? || %w[UTF-8 US-ASCII ASCII BINARY ASCII-8BIT].include?(from.upcase)
    from = Encoding.__known(from)
    [from, to || options[:internal_encoding]] if from&.__foreign?
  end

  # Methods of a position in bytes, for any class with `@position` and `size`.
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
      raise IOError, "closed stream" if closed?
      base = { 0 => 0, 1 => @position, 2 => size, :SET => 0, :CUR => @position, :END => size }[whence]
      raise Errno::EINVAL, "invalid whence" unless base
      self.pos = base + FoolsGold.integer(offset)
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
      @binary = FoolsGold.binary?("", encoding: encoding)
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
