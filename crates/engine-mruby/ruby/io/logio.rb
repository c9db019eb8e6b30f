# FoolsGold::LogIO, the class of $stdout, $stderr and rack.errors: each write is a line in the server's log.

module FoolsGold
  # An output whose writes become log lines of one level.
  class LogIO
    attr_accessor :sync

    def initialize(level)
      @level = level
      @sync = true
    end

    def write(*texts)
      texts.each { |text| Native.log(@level, text.to_s) }
      texts.sum { |text| text.to_s.bytesize }
    end

    def print(*texts)
      write(*texts)
      nil
    end

    def <<(text)
      write(text)
      self
    end

    def puts(*things)
      return Native.log(@level, "") if things.empty?
      things.each { |thing| thing.is_a?(Array) ? thing.each { |one| puts(one) } : write(thing) }
      nil
    end

    def printf(form, *values)
      write(format(form, *values))
      nil
    end

    def flush
      self
    end

    def fsync
      0
    end

    # Lines of the log are UTF-8.
    def binmode = self
    def set_encoding(*, **) = self
    def external_encoding = nil
    def internal_encoding = nil

    # Does nothing: the log belongs to the server.
    def close
      nil
    end

    def closed?
      false
    end

    def tty?
      false
    end
    alias isatty tty?

    def fileno
      @level == "info" ? 1 : 2
    end
  end
end

$stdout = STDOUT = FoolsGold::LogIO.new("info")
$stderr = STDERR = FoolsGold::LogIO.new("warn")
$0 = "foolsgold"
