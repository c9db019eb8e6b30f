# frozen_string_literal: true

# The gem: handlers for rackup, Rails and Sinatra, the hooks API, and an executable that finds the program.

require_relative "lib/foolsgold/version"

Gem::Specification.new do |spec|
  spec.name = "foolsgold"
  spec.version = FoolsGold::VERSION
  spec.authors = ["The FoolsGold developers"]
  spec.summary = "FoolsGold for rackup, Rails and Sinatra"
  spec.description = "Starts FoolsGold, an application server for Rack, from rackup, from rails server and from " \
    "Sinatra's own run!, and lets applications say what must happen around forks."
  spec.licenses = ["MIT", "Apache-2.0"]
  spec.required_ruby_version = ">= 2.7"
  spec.files = Dir.chdir(__dir__) { Dir["lib/**/*.rb", "exe/*", "libexec/*", "README.md", "LICENSE*", "NOTICE", "THIRD-PARTY"] }
  # With the program in it, it is for this kind of machine.
  spec.platform = Gem::Platform::CURRENT if File.exist?(File.join(__dir__, "libexec/foolsgold"))
  spec.bindir = "exe"
  spec.executables = ["foolsgold"]
  spec.require_paths = ["lib"]
end
