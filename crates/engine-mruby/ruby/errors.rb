# Exceptions that Rack code expects by name, and those of the server itself.
# Loaded first: what Rust raises must already exist.

class IOError < StandardError; end unless Object.const_defined?(:IOError)
class EOFError < IOError; end unless Object.const_defined?(:EOFError)
class LoadError < ScriptError; end unless Object.const_defined?(:LoadError)
class SecurityError < Exception; end unless Object.const_defined?(:SecurityError)
class Interrupt < Exception; end unless Object.const_defined?(:Interrupt)

# With it a request could reach into what belongs to the interpreter itself.
Object.remove_const(:ObjectSpace) if Object.const_defined?(:ObjectSpace)

# These are made when they are first named; what Rust raises must be there before.
[Errno::ENOENT, Errno::EACCES, Errno::EISDIR, Errno::ENOTDIR, Errno::EINVAL, Errno::EMFILE]

class Exception
  alias __set_backtrace set_backtrace
  def set_backtrace(trace) = __set_backtrace(String === trace ? [trace] : trace)
end

class SystemExit < Exception
  attr_reader :status

  def initialize(*given)
    @status = 0
    case given.first
    when true, false then @status = given.shift ? 0 : 1
    when Integer then @status = given.shift
    end
    super
  end

  def success?
    @status == 0
  end
end

module FoolsGold
  # The request has used up its time (--request-time). No StandardError: a plain rescue must not swallow it.
  class RequestTimeout < Exception; end

  # The client went away while its response was written.
  class ClientGone < IOError; end

  # The one counter of requests seen by all interpreters of the server: `count`, and `increment(by = 1)`, which returns
  # the new value, which no other call gets. Both are native.
  class Counter; end

  HINT = "The embedded interpreter does not have it. See docs/writing-apps.md, or run with --engine ruby.".freeze
end

module FoolsGold
  CAUSES_MAX = 10

  # Exceptions that led to this one, the nearest first, a line each.
  def self.causes(error)
    lines = []
    seen = [error]
    while lines.size < CAUSES_MAX && (error = error.cause) && seen.none? { |one| one.equal?(error) }
      seen << error
      place = (error.backtrace || []).find { |line| !line.start_with?("foolsgold/") }
      lines << "caused by #{error.class}: #{error.message.tr("\n", " ")}#{" (#{place})" if place}"
    end
    lines
  end
end

class FrozenError
  attr_reader :receiver

  def initialize(message = nil, receiver: nil)
    super(message)
    @receiver = receiver
  end
end

# The one that is raised is made beforehand, and forgets its message.
class SystemStackError
  def to_s = "stack level too deep"
  def message = to_s
end

class Exception
  def full_message(highlight: false, order: :top, **options)
    unless [nil, true, false].include?(highlight)
      raise ArgumentError, "expected true or false as highlight: #{highlight.inspect}"
    end
    unless [nil, :top, :bottom].include?(order)
      raise ArgumentError, "expected :top or :bottom as order: #{order.inspect}"
    end
    first = "#{backtrace&.first || $PROGRAM_NAME}: #{detailed_message(highlight: highlight, **options)}"
    rest = (backtrace || []).drop(1)
    unless order == :bottom
      return ([first] + rest.map { |line| "\tfrom #{line}" }).join("\n") + (rest.empty? ? "" : "\n")
    end
    head = highlight ? "\e[1mTraceback\e[m" : "Traceback"
    lines = rest.each_with_index.map { |line, at| format("\t%*d: from %s\n", rest.size.to_s.size, at + 1, line) }
    "#{head} (most recent call last):\n#{lines.reverse.join}#{first}"
  end

  def inspect
    text = to_s
    text.empty? ? self.class.to_s : "#<#{self.class}: #{text}>"
  end

  # The message with the class behind its first line; with escape sequences of a terminal where `highlight` is true.
  def detailed_message(highlight: false, **)
    unless [nil, true, false].include?(highlight)
      raise ArgumentError, "expected true or false as highlight: #{highlight.inspect}"
    end
    text, name = message.to_s, self.class.name
    if text.empty?
      text = instance_of?(RuntimeError) ? "unhandled exception" : self.class.to_s
      return highlight ? "\e[1;4m#{text}\e[m" : text
    end
    first, rest = text.split("\n", 2)
    return "#{first}#{" (#{name})" if name}#{"\n#{rest}" if rest}" unless highlight
    first = "\e[1m#{first}#{" (\e[1;4m#{name}\e[m\e[1m)" if name}\e[m"
    [first, *rest&.split("\n", -1)&.map { |line| line.empty? ? line : "\e[1m#{line}\e[m" }].join("\n")
  end
end

class Module
  # A constant that is not there: an error that says what to do.
  def const_missing(name)
    where = self == Object ? name.to_s : "#{self}::#{name}"
    hint = FoolsGold::ABSENT.include?(name) ? ": #{FoolsGold::HINT}" : ""
    raise NameError.new("uninitialized constant #{where}#{hint}", name, receiver: self)
  end
end

module FoolsGold
  # What CRuby has without `require`, or with a usual one, and this interpreter has not.
  ABSENT = %i[
    Ractor Signal
    Socket TCPSocket TCPServer UNIXSocket Net Open3
    Etc Resolv Ripper Coverage
    RubyVM TracePoint Refinement
  ].freeze
end
