# Exceptions that Rack code expects by name, and those of the server itself. This file is loaded first, before the
# native functions: the classes that they raise must exist.

class IOError < StandardError; end unless Object.const_defined?(:IOError)
class EOFError < IOError; end unless Object.const_defined?(:EOFError)
class LoadError < ScriptError; end unless Object.const_defined?(:LoadError)
class SecurityError < Exception; end unless Object.const_defined?(:SecurityError)
class SignalException < Exception; end unless Object.const_defined?(:SignalException)
class Interrupt < SignalException; end unless Object.const_defined?(:Interrupt)

# mruby's ObjectSpace lists all objects, also those of the interpreter itself. library/core/objectspace.rb replaces it.
Object.remove_const(:ObjectSpace) if Object.const_defined?(:ObjectSpace)

# mruby creates these classes on first use, and the native functions raise them by name.
[
  Errno::EACCES, Errno::EDQUOT, Errno::EFBIG, Errno::EINVAL, Errno::EIO, Errno::EISDIR, Errno::ELOOP, Errno::EMFILE,
  Errno::ENAMETOOLONG, Errno::ENFILE, Errno::ENODEV, Errno::ENOENT, Errno::ENOSPC, Errno::ENOTDIR, Errno::ENOTEMPTY,
  Errno::ENXIO, Errno::EPERM, Errno::EROFS
]

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
  # Raised when the request times out (--request-time). No StandardError, so that a plain rescue does not swallow it.
  class RequestTimeout < Exception; end

  # Raised when the client has gone away while its response is written.
  class ClientGone < IOError; end

  # The counter of requests that all interpreters of the server share. Its methods `count` and `increment(by = 1)` are
  # native; `increment` returns the new value, which no other call gets.
  class Counter; end

  HINT = "The embedded interpreter does not have it. See docs/writing-apps.md, or run with --engine ruby.".freeze
  CAUSES_MAX = 10

  # Defines methods that raise a NotImplementedError. Its message has the method's name behind `place`, and the reason.
  def self.refuse(owner, names, place = "", why = HINT)
    names.each do |name|
      owner.define_method(name) { |*, **| raise NotImplementedError, "#{place}#{name}: #{why}" }
    end
  end

  # An exception, its cause, the cause of that, and so on. A chain that is a circle ends where it began.
  def self.chain(error)
    all = [error]
    all << error while (error = error.cause) && all.none? { |one| one.equal?(error) }
    all
  end

  # A line for each exception in the chain of causes, the nearest first.
  def self.causes(error)
    chain(error)[1, CAUSES_MAX].map do |cause|
      # The first frame of the application, without those of our own Ruby code.
      place = (cause.backtrace || []).find { |line| !line.start_with?("foolsgold/") }
      "caused by #{cause.class}: #{cause.message.tr("\n", " ")}#{" (#{place})" if place}"
    end
  end
end

class FrozenError
  def initialize(message = nil, receiver: (none = true))
    super(message)
    @receiver = receiver unless none
  end
end

# mruby raises an object that was allocated beforehand, without a message.
class SystemStackError
  def to_s = "stack level too deep"
end

class Exception
  alias __set_backtrace set_backtrace
  def set_backtrace(trace) = __set_backtrace(String === trace ? [trace] : trace)

  def full_message(highlight: false, order: :top, **options)
    unless [nil, true, false].include?(highlight)
      raise ArgumentError, "expected true or false as highlight: #{highlight.inspect}"
    end
    unless [nil, :top, :bottom].include?(order)
      raise ArgumentError, "expected :top or :bottom as order: #{order.inspect}"
    end
    first_and_rest = lambda do |error|
      place, *above = error.backtrace
      ["#{place || $PROGRAM_NAME}: #{error.detailed_message(highlight: highlight, **options)}", above]
    end
    unless order == :bottom
      lines = FoolsGold.chain(self).flat_map do |error|
        first, rest = first_and_rest.call(error)
        [first, *rest.map { |line| "\tfrom #{line}" }]
      end
      return lines.join("\n") + (lines.size == 1 ? "" : "\n")
    end
    first, rest = first_and_rest.call(self)
    head = highlight ? "\e[1mTraceback\e[m" : "Traceback"
    lines = rest.each_with_index.map { |line, at| format("\t%*d: from %s\n", rest.size.to_s.size, at + 1, line) }
    "#{head} (most recent call last):\n#{lines.reverse.join}#{first}"
  end

  def inspect
    text = to_s
    text.empty? ? self.class.to_s : "#<#{self.class}: #{text}>"
  end

  # The message with the class behind its first line. With `highlight`, with escape sequences for a terminal.
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
  # Raises a NameError, with advice for constants that CRuby has.
  def const_missing(name)
    where = self == Object ? name.to_s : "#{self}::#{name}"
    hint = FoolsGold::ABSENT.include?(name) ? ": #{FoolsGold::HINT}" : ""
    raise NameError.new("uninitialized constant #{where}#{hint}", name, receiver: self)
  end
end

module FoolsGold
  # Constants of CRuby and its standard library that this interpreter does not have.
  ABSENT = %i[
    Ractor Signal
    Socket TCPSocket TCPServer UNIXSocket Net Open3
    Resolv Ripper Coverage
    RubyVM TracePoint Refinement
  ].freeze
end
