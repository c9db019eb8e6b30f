# Dir: open folders, and patterns (Dir.glob).

class Dir
  include Enumerable

  attr_reader :path
  alias to_path path

  def initialize(path, **)
    @path = File.path(path)
    @entries = Dir.entries(@path)
    @at = 0
  end

  def each(&block)
    return to_enum(:each) unless block
    @entries.each(&block)
    self
  end

  def children = @entries - [".", ".."]
  def each_child(&block) = children.each(&block)

  def read
    @at += 1
    @entries[@at - 1]
  end

  def rewind
    @at = 0
    self
  end

  def close = nil

  class << self
    # The paths that match a pattern, in the order of their names.
    def glob(patterns, flags = 0, base: nil, sort: true, **, &block)
      base = base && File.path(base)
      found = Array(patterns).flat_map { |one| FoolsGold::Native.dir_glob(File.path(one), flags, base) }
      block ? found.each(&block) && nil : found
    end

    def [](*patterns, **options) = glob(patterns.flatten, **options)

    def each_child(path, **, &block)
      return to_enum(:each_child, path) unless block
      children(path).each(&block)
      nil
    end

    def foreach(path, **, &block)
      return to_enum(:foreach, path) unless block
      entries(path).each(&block)
      nil
    end

    def empty?(path) = exist?(path) && children(path).empty?

    def open(path, **)
      block_given? ? yield(new(path)) : new(path)
    end

    # The home folder of a user, or that of the process.
    def home(user = nil)
      return FoolsGold::Native.user_home(FoolsGold.string(user)) if user
      ENV["HOME"] || raise(ArgumentError, "couldn't find HOME environment -- expanding '~'")
    end

    FoolsGold.refuse(self, %i[mkdir rmdir delete unlink chdir chroot mktmpdir], "Dir.", FoolsGold::READ_ONLY)
  end
end
