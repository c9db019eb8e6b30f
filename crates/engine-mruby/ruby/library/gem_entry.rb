# A gem of the application: its version, the folders for require, and whether it is a C extension.

module FoolsGold
  module Gems
    # A gem and its folder.
    class Entry
      attr_reader :name, :version, :folder

      def initialize(name, version, folder, specification)
        @name = name
        @version = version
        @folder = folder
        @specification = specification
      end

      def newer?(other)
        mine = numbers
        theirs = other.numbers
        [mine.size, theirs.size].max.times do |at|
          left = mine[at] || 0
          right = theirs[at] || 0
          return left > right if left != right
        end
        false
      end

      def numbers = version.split(".").map(&:to_i)

      def paths
        @paths ||= words("require_paths", ["lib"]).map { |path| File.join(folder, path) }
      end

      def extension?
        !words("extensions", []).empty?
      end

      # A list of words from the gem's specification, in the form that RubyGems writes. The file is not evaluated: it is
      # Ruby code that needs RubyGems.
      def words(name, otherwise)
        return otherwise unless File.file?(@specification)
        line = File.readlines(@specification).find { |one| one.include?("s.#{name} = [") }
        return otherwise unless line
        found = []
        line.split('"').each_with_index { |word, at| found << word if at.odd? }
        found
      end
    end
  end
end
