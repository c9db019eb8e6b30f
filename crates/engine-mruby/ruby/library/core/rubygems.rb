# Gem::Version, and the other parts of RubyGems that libraries use.

module Gem
  VERSION = "3.5.0".freeze

  class LoadError < ::LoadError; end
  class MissingSpecError < LoadError; end

  class Version
    include Comparable

    # A text, since libraries build patterns with it.
    VERSION_PATTERN = '[0-9]+(?>\.[0-9a-zA-Z]+)*(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?'.freeze
    ANCHORED_VERSION_PATTERN = /\A\s*(?:#{VERSION_PATTERN})?\s*\z/

    def self.correct?(version) = ANCHORED_VERSION_PATTERN.match?(version.to_s)
    def self.create(version) = version.nil? || version.is_a?(Version) ? version : new(version)

    # An ArgumentError for a text that is no version, such as "abc".
    def initialize(version)
      raise ArgumentError, "Malformed version number string #{version}" unless Version.correct?(version)
      @version = version.to_s.strip.gsub("-", ".pre.")
      @version = "0" if @version.empty?
    end

    def version = @version.dup
    alias to_s version

    # The numbers and words of the version; one with a word is a prerelease, which is older than the release.
    def segments = @version.scan(/\d+|[a-z]+/i).map { |part| part.match?(/\d/) ? part.to_i : part }

    # The segments without the zeros that end the numbers, and those that end the version: "1.0" and "1" are equal.
    def canonical_segments
      @canonical ||= [numbers, segments.drop(numbers.size)].flat_map do |part|
        part.reverse.drop_while { |one| one == 0 }.reverse
      end
    end

    def prerelease? = @version.match?(/[a-z]/i)
    def release = prerelease? ? Version.new(numbers.join(".")) : self
    def approximate_recommendation = "~> #{[*numbers, 0].first(2).join(".")}#{".a" if prerelease?}"
    def hash = canonical_segments.hash
    def eql?(other) = other.is_a?(Version) && @version == other.version
    def inspect = "#<#{self.class} #{@version.inspect}>"

    # The next version at the second to last number: "1.3" for "1.2.3".
    def bump
      kept = numbers
      kept = kept[0...-1] if kept.size > 1
      Version.new([*kept[0...-1], kept.last + 1].join("."))
    end

    def <=>(other)
      other = Version.new(other) if other.is_a?(String) && Version.correct?(other)
      return unless other.is_a?(Version)
      mine, theirs = canonical_segments, other.canonical_segments
      [mine.size, theirs.size].max.times do |at|
        left, right = mine[at] || 0, theirs[at] || 0
        next if left == right
        return left.is_a?(String) ? -1 : 1 unless left.is_a?(String) == right.is_a?(String)
        return left <=> right
      end
      0
    end

    private

    # The numbers before the first word.
    def numbers = segments.take_while { |part| part.is_a?(Integer) }
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
