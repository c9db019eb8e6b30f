# Open files. Loads File::Stat (stat.rb) and Dir (dir.rb) too.

class IO
  class << self
    def read(*args, **options) = File.read(*args, **options)
    def binread(*args) = File.binread(*args)
    def readlines(*args, **options) = File.readlines(*args, **options)
    def foreach(*args, **options, &block) = File.foreach(*args, **options, &block)

    # Copies from a file's path or any object with `read` to any with `write`, and returns the number of bytes.
    def copy_stream(from, to, length = nil, offset = nil)
      raise NotImplementedError, "IO.copy_stream to a file: #{FoolsGold::READ_ONLY}" if to.is_a?(String)
      # A Pathname has `read` too, which begins anew each time.
      path = from.is_a?(String) || (from.respond_to?(:to_path) && !from.is_a?(FoolsGold::Reading))
      return File.open(from) { |file| copy_stream(file, to, length, offset) } if path
      from.seek(offset) if offset
      count = 0
      while length.nil? || count < length
        part = from.read(length ? [65_536, length - count].min : 65_536)
        break if part.nil? || part.empty?
        to.write(part)
        count += part.bytesize
      end
      count
    end
  end
end

class File
  include FoolsGold::Reading
  include Enumerable

  attr_reader :path
  alias to_path path

  def initialize(path, mode = "r", _permission = nil, **options)
    mode = options[:mode] || mode
    reads = mode.is_a?(Integer) ? mode & 3 == 0 : mode.start_with?("r") && !mode.include?("+")
    raise NotImplementedError, "File.open with mode #{mode.inspect}: #{FoolsGold::READ_ONLY}" unless reads
    @path = File.path(path)
    @position = 0
    @lineno = 0
    @handle = FoolsGold.with_room { FoolsGold::Native.file_open(@path) }
    @binary = FoolsGold.binary?(mode, options)
    # "bom|utf-8": a byte order mark is no part of the text.
    marked = FoolsGold.encoding_in(mode, options).downcase.start_with?("bom|utf-8")
    @position = 3 if marked && slice_at(0, 3) == "\u{feff}"
  end

  def rewind
    @lineno = 0
    super
  end

  def close
    FoolsGold::Native.handle_close(@handle) if @handle
    @handle = nil
    super
  end

  def size = FoolsGold::Native.file_size(@handle)
  def stat = Stat.new(@handle || raise(IOError, "closed stream"))
  alias lstat stat
  def mtime = stat.mtime
  def atime = stat.atime
  def ctime = stat.ctime
  def flock(*) = 0
  def advise(*) = nil
  def close_on_exec=(value)
    value
  end

  def write(*)
    raise IOError, "not opened for writing"
  end
  %i[<< print puts printf putc syswrite write_nonblock truncate].each { |name| alias_method(name, :write) }

  private

  def slice_at(position, length)
    FoolsGold::Native.file_read_at(@handle, position, length).__binary!(@binary)
  end

  public

  def inspect = "#<File:#{path}#{' (closed)' if closed?}>"
end

FoolsGold::Loader.library("foolsgold/stat")
FoolsGold::Loader.library("foolsgold/dir")
