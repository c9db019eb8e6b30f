# Open files. Loads File::Stat (stat.rb) and Dir (dir.rb) too.

class IO
  class << self
    def read(*args, **options) = File.read(*args, **options)
    def binread(*args) = File.binread(*args)
    def readlines(*args, **options) = File.readlines(*args, **options)
    def foreach(*args, **options, &block) = File.foreach(*args, **options, &block)

    # Copies from a file's path, or from any object with `readpartial` or `read`, to any with `write`. Returns the sum
    # of what `write` returned. With an offset, which only files have, the file keeps its position.
    def copy_stream(from, to, length = nil, offset = nil)
      raise NotImplementedError, "IO.copy_stream to a file: #{FoolsGold::READ_ONLY}" if to.is_a?(String)
      from = from.to_io if from.respond_to?(:to_path) && from.respond_to?(:to_io)
      # A Pathname has `read` too, which begins anew each time.
      path = from.is_a?(String) || (from.respond_to?(:to_path) && !from.is_a?(FoolsGold::Reading))
      return File.open(from) { |file| copy_stream(file, to, length, offset) } if path
      return copy_parts(from, to, length) if offset.nil?
      raise ArgumentError, "cannot specify src_offset for non-IO" unless from.respond_to?(:to_path)
      position = from.pos
      begin
        from.seek(offset)
        copy_parts(from, to, length)
      ensure
        from.seek(position)
      end
    end

    private

    # Copies `length` bytes, all without one or with a negative one. The source gets both a length and a buffer, as in
    # CRuby: it may require two arguments.
    def copy_parts(from, to, length)
      length = nil if length && length < 0
      in_parts = from.respond_to?(:readpartial)
      count = 0
      while length.nil? || count < length
        size = length ? [65_536, length - count].min : 65_536
        part = "".b
        if in_parts
          from.readpartial(size, part)
        else
          break if from.read(size, part).nil? || part.empty?
        end
        count += FoolsGold.integer(to.write(part))
      end
      count
    rescue EOFError
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
    foreign = FoolsGold.foreign(mode, options)
    raise NotImplementedError, "File.open: only File.read knows #{foreign[0]}. #{FoolsGold::HINT}" if foreign
    @path = File.path(path)
    @position = @lineno = 0
    @handle = FoolsGold.with_room { FoolsGold::Native.file_open(@path) }
    @binary = FoolsGold.binary?(mode, options)
    # "bom|utf-8": a byte order mark is no part of the text.
    marked = FoolsGold.encoding_in(mode, options).downcase.start_with?("bom|utf-8")
    @position = 3 if marked && slice_at(0, 3) == "\u{feff}"
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

  def inspect = "#<File:#{path}#{' (closed)' if closed?}>"

  private

  def slice_at(position, length)
    FoolsGold::Native.file_read_at(@handle, position, length).__binary!(@binary)
  end
end

FoolsGold::Loader.library("foolsgold/stat")
FoolsGold::Loader.library("foolsgold/dir")
