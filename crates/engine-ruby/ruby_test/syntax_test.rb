# frozen_string_literal: true

# All Ruby files must parse in the oldest supported Ruby, 2.7, which need not be installed.

require "ripper"

# Finds methods without `end`, which Ruby has from 3.0 on: their body is one expression and no list of statements.
module Endless
  def self.in(tree)
    return [] unless tree.is_a?(Array)

    own = %i[def defs].include?(tree[0]) && endless?(tree.last) ? [tree.find { |part| Array === part }[1]] : []
    own + tree.flat_map { |part| Endless.in(part) }
  end

  def self.endless?(body)
    body[0] != :bodystmt || body[1][0].is_a?(Symbol)
  end
end

Harness.check("nothing is written in the syntax of a later Ruby than 2.7") do
  found = Dir[File.join(__dir__, "..", "ruby", "*.rb")].to_h do |path|
    [File.basename(path), Endless.in(Ripper.sexp(File.read(path)))]
  end
  Harness.same({}, found.reject { |_, names| names.empty? })
end
