# Gem::Version, and the other parts of RubyGems that libraries use.

module Gem
  VERSION = "3.5.0".freeze

  class LoadError < ::LoadError; end
  class MissingSpecError < LoadError; end

  class Version
    include Comparable

    # A text, since libraries build patterns with it.
    VERSION_PATTERN = '[0-9]+(?>\.[0-9a-zA-Z]+)*(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?'.freeze

    def self.correct?(version) = !version.to_s.empty?
    def self.create(version) = version.is_a?(Version) ? version : new(version)

    def initialize(version)
      @version = version.to_s.strip
    end

    attr_reader :version
    alias to_s version

    # The parts of the version; one with letters belongs to a prerelease, which is older than the release.
    def segments
      @segments ||= @version.split(".").map { |part| part.to_i.to_s == part ? part.to_i : part }
    end

    def prerelease? = segments.any?(String)
    def hash = segments.hash
    def eql?(other) = other.is_a?(Version) && segments == other.segments
    def inspect = "Gem::Version.new(#{@version.inspect})"

    def <=>(other)
      other = Version.create(other)
      size = [segments.size, other.segments.size].max
      size.times do |at|
        mine = segments[at] || 0
        theirs = other.segments[at] || 0
        next if mine == theirs
        return mine.is_a?(String) ? -1 : 1 unless mine.class == theirs.class
        return mine <=> theirs
      end
      0
    end
  end

  def self.ruby_version = Version.new(RUBY_VERSION)
  def self.loaded_specs = {}
  def self.win_platform? = false

  # Deprecated methods work without a warning.
  module Deprecate
    class << self
      attr_accessor :skip

      def skip_during
        before, self.skip = skip, true
        yield
      ensure
        self.skip = before
      end
    end

    def deprecate(_name, _replacement, _year, _month); end
    def rubygems_deprecate(_name, _replacement = nil); end
    module_function :deprecate, :rubygems_deprecate
  end
end
