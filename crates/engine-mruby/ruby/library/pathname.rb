# Pathname: a path, and what File and Dir do with it.

class Pathname
  include Comparable

  def self.pwd = new(Dir.pwd)
  def self.getwd = pwd

  def initialize(path)
    path = path.to_path if path.respond_to?(:to_path)
    raise TypeError, "no implicit conversion of #{path.class} into String" unless path.is_a?(String)
    raise ArgumentError, "pathname contains null byte" if path.include?("\0")
    @path = path.dup
  end

  def to_s = @path.dup
  alias to_path to_s
  def inspect = "#<Pathname:#{@path}>"
  def hash = @path.hash
  def ==(other) = other.is_a?(Pathname) && @path == other.to_s
  alias eql? ==
  alias === ==
  def <=>(other) = other.is_a?(Pathname) ? @path.tr("/", "\0") <=> other.to_s.tr("/", "\0") : nil
  def absolute? = @path.start_with?("/")
  def relative? = !absolute?
  def root? = !@path.empty? && @path.delete("/").empty?
  def to_pathname = self

  def +(other)
    other = Pathname.new(other) unless other.is_a?(Pathname)
    Pathname.new(plus(@path, other.to_s))
  end
  alias / +

  def join(*others) = others.inject(self) { |path, other| path + other }
  def parent = self + ".."
  def basename(*args) = Pathname.new(File.basename(@path, *args))
  def dirname = Pathname.new(File.dirname(@path))
  def extname = File.extname(@path)
  def split = [dirname, basename]
  def sub(*args, &block) = Pathname.new(block ? @path.sub(*args, &block) : @path.sub(*args))
  def sub_ext(ext) = Pathname.new(@path.delete_suffix(extname) + ext)
  def expand_path(*args) = Pathname.new(File.expand_path(@path, *args.map(&:to_s)))
  def realpath(*) = Pathname.new(File.realpath(@path))

  # Without `.`, and without `..` where it can be done by the text alone.
  # The name before a `..` may be that of a link: where that counts, both stay.
  def cleanpath(links = false)
    return keep_links if links
    kept = []
    @path.split("/").each do |part|
      next if part.empty? || part == "."
      next kept << part unless part == ".."
      kept.empty? || kept.last == ".." ? (kept << part unless absolute?) : kept.pop
    end
    return Pathname.new("/#{kept.join('/')}") if absolute?
    Pathname.new(kept.empty? ? "." : kept.join("/"))
  end

  def relative_path_from(base)
    from = Pathname.new(base).cleanpath
    to = cleanpath
    raise ArgumentError, "different prefix: #{self} and #{base}" if from.absolute? != to.absolute?
    from, to = [from, to].map { |path| path.to_s.split("/").reject { |part| part.empty? || part == "." } }
    while !from.empty? && from.first == to.first
      from.shift
      to.shift
    end
    raise ArgumentError, "base_directory has ..: #{base}" if from.include?("..")
    parts = [".."] * from.size + to
    Pathname.new(parts.empty? ? "." : parts.join("/"))
  end


  def each_filename(&block)
    return to_enum(:each_filename) unless block
    @path.split("/").reject(&:empty?).each(&block)
    nil
  end

  def ascend(&block) = block ? (parents.each(&block); nil) : parents.each
  def descend(&block) = block ? (parents.reverse.each(&block); nil) : parents.reverse.each

  def children(whole = true)
    Dir.children(@path).map { |name| whole && @path != "." ? self + name : Pathname.new(name) }
  end

  def entries = Dir.entries(@path).map { |name| Pathname.new(name) }
  def each_child(whole = true, &block) = children(whole).each(&block)
  def read(*args) = File.read(@path, *args)
  def binread(*args) = File.binread(@path, *args)
  def readlines(*args, **options) = File.readlines(@path, *args, **options)
  def each_line(&block) = read.each_line(&block)
  def open(*args, &block) = File.open(@path, *args, &block)
  def write(*args) = File.write(@path, *args)

  %i[exist? file? directory? readable? size mtime].each do |name|
    define_method(name) { File.__send__(name, @path) }
  end
  names = %i[writable? executable? zero? empty? stat lstat unlink delete rename mkdir rmdir mkpath symlink? ftype]
  names.each do |name|
    define_method(name) { |*args| File.__send__(name, @path, *args) }
  end
  def glob(*args, &block) = Dir.glob(*args.map { |pattern| File.join(@path, pattern) }, &block)

  private

  def keep_links
    names = @path.split("/").reject { |name| name.empty? || name == "." }
    names.shift while absolute? && names[0] == ".."
    return Pathname.new(absolute? ? "/" : ".") if names.empty?
    names << "." if names.last != ".." && File.basename(@path) == "."
    slash = "/" if @path.end_with?("/") && names.last != "." && names.last != ".."
    Pathname.new("#{"/" if absolute?}#{names.join("/")}#{slash}")
  end

  def plus(left, right)
    return right if right.start_with?("/")
    rest = right.split("/").reject { |part| part.empty? || part == "." }
    base = left
    while rest.first == ".."
      break if base.empty? || base == "." || File.basename(base) == ".."
      rest.shift
      base = base.include?("/") ? File.dirname(base) : "."
    end
    return base.empty? ? "." : base if rest.empty?
    base.empty? || base == "." ? rest.join("/") : File.join(base, *rest)
  end

  def parents
    found = [self]
    found << found.last.dirname until found.last.to_s == found.last.dirname.to_s || !found.last.to_s.include?("/")
    found
  end
end

module Kernel
  def Pathname(path) = path.is_a?(Pathname) ? path : Pathname.new(path)
  private :Pathname
end
