# frozen_string_literal: true

# Runs all tests of the gem:  ruby gem/test/all.rb
# Those that start a server need the program: FOOLS_GOLD_BINARY, or foolsgold on PATH.

$LOAD_PATH.unshift(File.expand_path("../lib", __dir__))
require "minitest/autorun"
Dir[File.join(__dir__, "*_test.rb")].sort.each { |path| require path }
