# frozen_string_literal: true

# The order to a process that has evaluated a configuration to continue as the mold, with everything that a mold is
# started with.

module FoolsGold
  @evaluated = {}

  class << self
    # The file that was evaluated in this process, by its path as in SETUP: it is not evaluated again.
    attr_reader :evaluated
  end

  class Successor
    # Files of this script that the mold loads too.
    SHARED = %w[directives puma_options old_words old_file].freeze
    # The system call prctl(2), by machine. PR_SET_DUMPABLE keeps `/proc` of a process that has changed its user
    # readable: else only root could see which memory it shares.
    PRCTL = { "x86_64" => 157, "aarch64" => 167 }[RUBY_PLATFORM[/\A[^-]+/]]
    GET_DUMPABLE = 3
    SET_DUMPABLE = 4

    def self.changes_user?
      Process.uid.zero? && !PRCTL.nil? && prctl(GET_DUMPABLE, 0) == 1
    rescue NotImplementedError, SystemCallError
      false
    end

    def self.prctl(what, value)
      Kernel.syscall(PRCTL, what, value, 0, 0, 0)
    end

    def initialize(streams, order)
      @streams = streams
      @order = order
    end

    def begin(file)
      trap("TERM", "DEFAULT")
      [$stdin, $stdout, $stderr].zip(@streams) do |stream, io|
        stream.reopen(io)
        io.close
      end
      move
      change_user unless @order["uid"].to_s.empty?
      @order.each { |name, value| ENV[name.delete_prefix("env:")] = value if name.start_with?("env:") }
      FoolsGold.evaluated[@order["file"]] = file
      mold = @order["mold"]
      SHARED.each { |name| $LOADED_FEATURES << File.join(File.realpath(File.dirname(mold)), "#{name}.rb") }
      $PROGRAM_NAME = mold
      load mold
    end

    private

    def move
      Dir.chdir(@order["folder"])
      File.umask(@order["umask"].to_i)
    end

    def change_user
      Process.groups = @order["groups"].split(",").map(&:to_i)
      Process::GID.change_privilege(@order["gid"].to_i)
      Process::UID.change_privilege(@order["uid"].to_i)
      Successor.prctl(SET_DUMPABLE, 1)
    end
  end
end
