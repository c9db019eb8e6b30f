# frozen_string_literal: true

# What a process that has evaluated a configuration is told when it is to go on as the mold: all that it would have been
# started with.

module FoolsGold
  @evaluated = {}

  class << self
    # The file that was evaluated in this process, by its path as the mold is told it: it is not evaluated again.
    attr_reader :evaluated
  end

  class Successor
    # Parts of this script that are parts of the mold.
    SHARED = %w[directives puma_options old_words old_file].freeze
    # By which Linux lets a process be looked at that has changed its user (PR_SET_DUMPABLE): what its memory is shared
    # with is told to nobody else. The system call's number is the machine's.
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
