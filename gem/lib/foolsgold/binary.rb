# frozen_string_literal: true

# Finds the program foolsgold.

require_relative "unable"

module FoolsGold
  # Where the environment says, in this gem, on PATH, in the repository that the gem is part of.
  module Binary
    VARIABLE = "FOOLS_GOLD_BINARY"
    NAME = "foolsgold"
    IN_GEM = File.expand_path("../../libexec/#{NAME}", __dir__)
    # Where `bin/install` of the repository builds it, for who uses the gem from there.
    BUILT = File.expand_path("release/#{NAME}", ENV["CARGO_TARGET_DIR"] || File.expand_path("../../../target", __dir__))

    module_function

    # Its path.
    def path(environment = ENV, in_gem = IN_GEM, built = BUILT)
      named = environment[VARIABLE].to_s
      return check(File.expand_path(named)) unless named.empty?

      places = environment["PATH"].to_s.split(File::PATH_SEPARATOR).reject(&:empty?)
      candidates = [in_gem, *places.map { |folder| File.expand_path(NAME, folder) }, built]
      candidates.find { |candidate| program?(candidate) } || raise(Unable, <<~WORDS.tr("\n", " ").strip)
        the program foolsgold is neither in the gem (#{in_gem}) nor on PATH: build it with `bin/install` of the
        FoolsGold repository, or say where it is with #{VARIABLE}
      WORDS
    end

    def check(path)
      return path if program?(path)

      raise Unable, "#{VARIABLE} is #{path}, which is no program that can be run: give the path of foolsgold"
    end

    # A script of this name is this gem's own executable, or a wrapper that calls it.
    def program?(path)
      File.file?(path) && File.executable?(path) && File.binread(path, 2) != "#!"
    rescue SystemCallError
      false
    end
  end
end
