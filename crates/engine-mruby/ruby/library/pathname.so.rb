# The part of Pathname that CRuby has in C (pathname.so): methods that call File and Dir with the path. The rest is
# pathname.rb of Ruby's own library.

class Pathname
  class << self
    def getwd = new(Dir.getwd)
    alias pwd getwd

    def glob(*args, **options, &block)
      found = Dir.glob(*args, **options).map { |path| new(path) }
      block ? found.each(&block) && nil : found
    end
  end

  def initialize(path)
    path = FoolsGold.path(path)
    raise ArgumentError, "pathname contains null byte" if path.include?("\0")
    @path = path.dup
  end

  def to_s = @path.dup
  alias to_path to_s
  def inspect = "#<#{self.class}:#{@path}>"
  def hash = @path.hash
  def ==(other) = other.is_a?(Pathname) && @path == other.to_s
  alias eql? ==
  alias === ==
  def <=>(other) = other.is_a?(Pathname) ? @path.tr("/", "\0") <=> other.to_s.tr("/", "\0") : nil

  def freeze
    @path.freeze
    super
  end

  def sub(*args, &block)
    return self.class.new(@path.sub(*args)) unless block
    self.class.new(@path.sub(*args) do |found|
      FoolsGold.last_match = $~
      block.call(found)
    end)
  end

  def sub_ext(ext) = self.class.new(@path.delete_suffix(extname) + ext)
  def extname = File.extname(@path)
  def split = File.split(@path).map { |path| self.class.new(path) }
  def fnmatch(pattern, *args) = File.fnmatch(pattern, @path, *args)
  alias fnmatch? fnmatch
  def rename(to) = File.rename(@path, to)
  def empty? = directory? ? Dir.empty?(@path) : File.empty?(@path)
  def each_line(...) = File.foreach(@path, ...)
  def entries = Dir.entries(@path).map { |name| self.class.new(name) }
  def each_entry(&block) = block ? entries.each(&block) && nil : to_enum(:each_entry)

  def glob(pattern, flags = 0, &block)
    found = Dir.glob(pattern, flags, base: @path).map { |path| self + path }
    block ? found.each(&block) && nil : found
  end

  %i[basename dirname expand_path realpath realdirpath readlink].each do |name|
    define_method(name) { |*args| self.class.new(File.__send__(name, @path, *args)) }
  end
  %i[mkdir rmdir opendir].each do |name|
    define_method(name) { |*args, &block| Dir.__send__(name, @path, *args, &block) }
  end
  of_file = %i[
    read binread readlines write binwrite open stat lstat ftype atime birthtime ctime mtime size size? zero? exist?
    file? directory? symlink? pipe? socket? blockdev? chardev? readable? writable? executable? readable_real?
    writable_real? executable_real? world_readable? world_writable? owned? grpowned? setuid? setgid? sticky? truncate
    unlink delete sysopen
  ]
  of_file.each do |name|
    define_method(name) { |*args, **options, &block| File.__send__(name, @path, *args, **options, &block) }
  end
end

module Kernel
  def Pathname(path) = path.is_a?(Pathname) ? path : Pathname.new(path)
  private :Pathname
end
