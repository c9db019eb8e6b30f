# frozen_string_literal: true

# Tests in a few lines, so that they run in any Ruby that has Rack.

# `check` runs a block and remembers its failure; `same` compares.
module Harness
  @failures = []
  @count = 0

  class << self
    attr_reader :failures, :count

    def check(name)
      @count += 1
      yield
      puts "ok      #{name}"
    rescue StandardError => error
      @failures << name
      puts "FAILED  #{name}\n  #{error.message} (#{error.class})\n  #{error.backtrace.first(6).join("\n  ")}"
    end

    def same(expected, found)
      expected == found or raise "expected #{expected.inspect[0, 500]}, found #{found.inspect[0, 500]}"
    end

    def match(pattern, found)
      pattern.match?(found) or raise "expected something like #{pattern.inspect}, found #{found.inspect[0, 800]}"
    end

    # The message of an exception of this class that the block raises; nil without one.
    def raised(kind)
      yield
      nil
    rescue kind => error
      error.message
    end

    # Polls until the block is true.
    def eventually(what)
      limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 10
      until yield
        raise "not within 10 s: #{what}" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > limit

        sleep 0.01
      end
    end
  end
end
