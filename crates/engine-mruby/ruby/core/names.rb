# Constants and small methods that exist in CRuby without any require; libraries refer to them while they are loaded.

class IO
  module WaitReadable; end
  module WaitWritable; end

  class TimeoutError < IOError; end

  READABLE = 1
  PRIORITY = 2
  WRITABLE = 4

  { EAGAIN: Errno::EAGAIN, EINPROGRESS: Errno::EINPROGRESS }.each do |name, error|
    const_set("#{name}WaitReadable", Class.new(error)).include(WaitReadable)
    const_set("#{name}WaitWritable", Class.new(error)).include(WaitWritable)
  end

  EWOULDBLOCKWaitReadable = EAGAINWaitReadable
  EWOULDBLOCKWaitWritable = EAGAINWaitWritable
end

module Process
  CLOCK_THREAD_CPUTIME_ID = 3
  CLOCK_MONOTONIC_RAW = 4
  CLOCK_REALTIME_COARSE = 5
  CLOCK_MONOTONIC_COARSE = 6
  CLOCK_BOOTTIME = 7
  WNOHANG = 1
  WUNTRACED = 2

  class << self
    def argv0 = $0
    def last_status = nil
    def setproctitle(title) = title
    def warmup = true

    FoolsGold.refuse(self, %i[daemon detach kill wait wait2 waitall waitpid waitpid2], "Process.")
  end
end

# FileTest: the tests of File as functions of a module.
module FileTest
  %i[directory? empty? executable? exist? file? identical? readable? size size? symlink? writable? zero?].each do |name|
    define_singleton_method(name) { |*paths| File.public_send(name, *paths) }
  end
end

module Signal
  def self.signame(number) = list.key(number)
end

class Exception
  def self.to_tty? = false
end

# The files that ARGV names, or the standard input: there are none. Ruby's csv compares each input with it.
ARGF = StringIO.new("".freeze)

class NoMatchingPatternKeyError
  attr_reader :key, :matchee

  def initialize(message = nil, matchee: nil, key: nil)
    super(message)
    @matchee = matchee
    @key = key
  end
end

class String
  alias dedup -@
end

class Numeric
  def integer? = false
  def real? = true
  def to_int = to_i
end

class Random
  def self.urandom(count) = SecureRandom.bytes(count)
end
