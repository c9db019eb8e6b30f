# frozen_string_literal: true

# Frames as PROTOCOL.md describes them: their numbers, and reading and writing them where speed does not matter. The
# busy path of a slot has its own code (slot.rb).

module FoolsGold
  # The numbers of the protocol, as in frames.rs.
  module Frames
    VERSION = 1
    # The most causes of an exception that are sent.
    CAUSES = 10

    MOLD_ROLE = 0
    CONTROL_ROLE = 1
    SLOT_ROLE = 2
    BODY_ROLE = 3
    FULL_ROLE = 4
    PARTIAL_ROLE = 5
    REST_ROLE = 6
    BROKEN_ROLE = 7
    DIRECT_ROLE = 8
    CLAIMS_ROLE = 9

    HELLO = 1
    SETUP = 2
    READY = 3
    FAILED = 4
    FORK = 5
    FORKED = 6
    EXITED = 7
    LOG = 8
    STOP = 9
    CANCEL = 10
    DUMP = 11
    INTERRUPT = 12
    PING = 13
    TITLE = 14
    THREADS = 15
    TRACE = 16
    OUT_OF_BAND = 17
    SHARED = 18
    ENDING = 19
    SHAPE = 20
    REQUEST = 21
    BEFORE_EXEC = 22
    HOOK_FAILED = 23
    RELEASE = 24
    NO_NATIVE = 25
    CLOSING = 26
    SERVING = 27
    GROW = 28
    FLUSH = 29
    ANSWER = 30
    CHUNK = 31
    END_OF_BODY = 32
    FAULT = 33
    HINTS = 34
    BAD = 35
    FREE = 36
    MEMORY = 37
    LEFT = 38

    # The exit code in EXITED for a process whose status is not known.
    UNKNOWN_EXIT = -0x8000_0000

    MORE = 1
    FILE = 2
    UPGRADE = 4
    TAKEN = 8
    LATER = 16
    UNASKED = 32
    WITHDRAWN = 64

    NUL = "\0"
    LARGEST = 67_108_864

    # Constants of fcntl(2), so that no gem (fcntl, io-nonblock) is activated before Bundler is set up.
    F_GETFL = 3
    F_SETFL = 4

    module_function

    # Reads the next frame; returns kind and payload, or nil at the end of the connection.
    def read(io)
      head = io.read(5)
      return nil if head.nil? || head.bytesize < 5

      length, kind = head.unpack("NC")
      raise ProtocolError, "a frame of #{length} bytes, 1 to #{LARGEST} are allowed" if length < 1 || length > LARGEST

      payload = length == 1 ? "".b : io.read(length - 1)
      payload && payload.bytesize == length - 1 ? [kind, payload] : nil
    rescue Errno::ECONNRESET
      nil
    end

    def frame(kind, payload)
      [payload.bytesize + 1, kind, payload].pack("NCa*")
    end

    # Encodes strings, each followed by NUL. With a separator for `join`, here and elsewhere: without one it takes `$,`,
    # which applications change. The list is cut where it would not fit in a frame.
    def list(strings)
      strings = strings.map { |string| String === string ? string : string.to_s }
      strings.map { |string| "#{string.b.delete(NUL)}\0" }.join("").b.byteslice(0, 1_000_000)
    end

    # Joins strings of any encodings as bytes.
    def join(strings)
      strings.join("")
    rescue Encoding::CompatibilityError
      strings.map(&:b).join("")
    end

    # Decodes the strings of a list.
    def strings(payload)
      payload.split(NUL, -1).tap(&:pop)
    end

    # Encodes an exception as the payload of FAILED and FAULT.
    def error(error)
      list([error.class.name || error.class.inspect, message(error), *causes(error), *backtrace(error)])
    rescue Exception
      # Even if its class cannot be named, the front learns that there was an exception.
      list(["Exception", message(error)])
    end

    # The message of an exception; also of one whose message raises, whatever that is.
    def message(error)
      message = error.message
      String === message ? message : message.to_s
    rescue Exception
      "(its message cannot be had)"
    end

    # The causes of an exception, the nearest first.
    def causes(error)
      seen = [error]
      lines = []
      while seen.size <= CAUSES && (error = error.cause) && seen.none? { |one| one.equal?(error) }
        seen << error
        trace = backtrace(error)
        place = trace.find { |line| !line.start_with?("<internal:") } || trace.first
        lines << join(["caused by ", error.class.to_s, ": ", message(error).tr("\n", " "), *(" (#{place})" if place)])
      end
      lines
    rescue Exception
      lines # As below.
    end

    # The backtrace of an exception or a thread. Lines of the server's own files are left out, unless it begins there.
    def backtrace(error)
      lines = Array(error.backtrace)
      # A process that has evaluated a configuration was started with `-e`.
      others = lines.reject { |line| line.start_with?(__dir__, "-e:") }
      lines.first&.start_with?(__dir__) && !error.is_a?(LoadFailed) ? lines : others
    rescue Exception
      [] # An exception can be made to raise here, too.
    end
  end
end
