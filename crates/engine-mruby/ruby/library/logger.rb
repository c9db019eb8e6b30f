# Logger: lines with a severity to $stdout, $stderr or any object with `write`, in CRuby's format.

class Logger
  module Severity
    DEBUG, INFO, WARN, ERROR, FATAL, UNKNOWN = 0, 1, 2, 3, 4, 5

    def self.coerce(level)
      return level if level.is_a?(Integer)
      name = constants.find { |one| one.to_s == level.to_s.upcase }
      name ? const_get(name) : raise(ArgumentError, "invalid log level: #{level}")
    end
  end
  include Severity

  class Error < RuntimeError; end
  class ShiftingError < Error; end

  SEV_LABEL = %w[DEBUG INFO WARN ERROR FATAL ANY].freeze
  VERSION = "1.6.0"
  ProgName = "logger.rb/1.6.0".freeze

  # "I, [2024-01-02T03:04:05.678901 #42]  INFO -- program: message"
  class Formatter
    Format = "%.1s, [%s #%d] %5s -- %s: %s\n".freeze
    DatetimeFormat = "%Y-%m-%dT%H:%M:%S.%6N".freeze
    attr_accessor :datetime_format

    def call(severity, time, progname, msg)
      format(Format, severity, format_datetime(time), Process.pid, severity, progname, msg2str(msg))
    end

    private

    def format_datetime(time) = time.strftime(@datetime_format || DatetimeFormat)

    def msg2str(msg)
      case msg
      when String then msg
      when Exception then "#{msg.message} (#{msg.class})\n#{msg.backtrace&.join("\n")}"
      else msg.inspect
      end
    end
  end

  # The output of a Logger.
  class LogDevice
    attr_reader :dev, :filename

    def initialize(dev)
      unless dev.respond_to?(:write)
        raise NotImplementedError, "Logger: #{dev.inspect} is no IO, and files are not written here. #{FoolsGold::HINT}"
      end
      @dev = dev
    end

    # Writes a line. A failure is reported and does not reach the caller, as in CRuby.
    def write(text)
      @dev.write(text)
    rescue StandardError => error
      warn("log writing failed. #{error}")
    end

    def close = @dev.respond_to?(:close) && ![$stdout, $stderr, STDOUT, STDERR].include?(@dev) ? @dev.close : nil
    def reopen(*) = self
  end

  attr_accessor :progname, :formatter
  attr_reader :level

  def initialize(logdev = nil, _age = 0, _size = 0, level: DEBUG, progname: nil, formatter: nil, datetime_format: nil,
                 binmode: false, shift_period_suffix: "%Y%m%d", reraise_write_errors: [])
    self.level = level
    @progname = progname
    @default_formatter = Formatter.new
    self.datetime_format = datetime_format
    @formatter = formatter
    @logdev = device(logdev)
  end

  def level=(level)
    @level = Severity.coerce(level)
  end

  # Sets another level during the block.
  def with_level(level)
    before = @level
    self.level = level
    yield
  ensure
    @level = before
  end

  def datetime_format = @default_formatter.datetime_format

  def datetime_format=(form)
    @default_formatter.datetime_format = form
  end

  def add(severity, message = nil, progname = nil)
    severity ||= UNKNOWN
    return true if @logdev.nil? || severity < level
    progname = @progname if progname.nil?
    if message.nil?
      message = block_given? ? yield : progname
      progname = @progname unless block_given?
    end
    @logdev.write(format_message(format_severity(severity), Time.now, progname, message))
    true
  end
  alias log add

  def <<(text) = @logdev&.write(text)

  { debug: DEBUG, info: INFO, warn: WARN, error: ERROR, fatal: FATAL, unknown: UNKNOWN }.each do |name, severity|
    define_method(name) { |progname = nil, &block| add(severity, nil, progname, &block) }
    next if severity == UNKNOWN
    define_method(:"#{name}?") { level <= severity }
    define_method(:"#{name}!") { self.level = severity }
  end

  def close = @logdev&.close

  def reopen(logdev = nil)
    @logdev = device(logdev) if logdev
    self
  end

  private

  # The device for what the application names; the standard streams may be named by their paths, as in containers.
  def device(logdev)
    return if !logdev || logdev == File::NULL
    logdev = { "/dev/stdout" => STDOUT, "/dev/stderr" => STDERR }[logdev] || logdev if logdev.is_a?(String)
    LogDevice.new(logdev)
  end

  # Subclasses may override these two methods.
  def format_severity(severity) = SEV_LABEL[severity] || "ANY"

  def format_message(severity, time, progname, msg)
    (@formatter || @default_formatter).call(severity, time, progname, msg)
  end
end
