# Tempfile: a file that is deleted when its object is freed, and at the latest at the end of the request that made it.
# Rust reads and writes it by position (ruby-stdlib/src/temporary.rs).

class Tempfile
  include FoolsGold::Reading
  include FoolsGold::Writing
  include Enumerable

  class << self
    include FoolsGold::Opening

    def create(basename = "", tmpdir = nil, **options, &block)
      file = new(basename, tmpdir, **options)
      block ? FoolsGold.closing(file, :close!, &block) : file
    end
  end

  # The basename may be a pair: begin and end of the file's name.
  def initialize(basename = "", tmpdir = nil, mode: 0, **options)
    prefix, suffix = basename.is_a?(Array) ? basename : [basename, ""]
    prefix = prefix.to_str.delete("/\0")
    suffix = suffix.to_s.delete("/\0")
    @handle = FoolsGold.with_room { FoolsGold::Native.temporary_new(prefix, suffix, tmpdir && tmpdir.to_s) }
    @path = FoolsGold::Native.temporary_path(@handle)
    @position = @lineno = 0
    @append = mode.is_a?(Integer) && mode & 1024 != 0
    @binary = FoolsGold.binary?(mode, options)
  end

  attr_reader :path
  alias to_path path

  def size = @handle ? FoolsGold::Native.temporary_size(@handle) : 0
  alias length size

  def write(*texts)
    opened!
    texts.sum do |text|
      text = text.to_s
      @position = size if @append
      FoolsGold::Native.temporary_write(@handle, @position, text)
      @position += text.bytesize
      text.bytesize
    end
  end
  alias syswrite write

  def truncate(length) = FoolsGold::Native.temporary_truncate(@handle, length)
  def flush = self
  def fsync = 0
  alias fdatasync fsync
  def chmod(_mode) = 0

  # Closes the file; with true, deletes it too.
  def close(unlink_now = false)
    @closed = true
    unlink if unlink_now
    give_back
    nil
  end

  # Opens the file again, at its beginning.
  def open
    raise IOError, "closed stream" unless @handle
    @closed = false
    @position = 0
    self
  end

  def close!
    close(true)
  end

  # Deletes the file's name. A file that is open can still be written and read.
  def unlink
    return unless @path
    FoolsGold::Native.temporary_unlink(@handle)
    @path = nil
    give_back
    true
  end
  alias delete unlink

  def inspect = "#<Tempfile:#{@path}#{closed? ? ' (closed)' : ''}>"
  def to_io = self

  private

  # Releases the file once it is closed and has no name: it cannot be opened again.
  def give_back
    return unless @closed && @path.nil? && @handle
    FoolsGold::Native.handle_close(@handle)
    @handle = nil
  end

  def opened!
    raise IOError, "closed stream" if @closed || @handle.nil?
  end

  # As text, unless `binmode` or an encoding says that the file holds bytes.
  def slice_at(position, length)
    FoolsGold::Native.temporary_read(@handle, position, length).__binary!(@binary)
  end
end

class Dir
  def self.tmpdir = FoolsGold::Native.temporary_folder

  def self.mktmpdir(*)
    raise NotImplementedError, "Dir.mktmpdir: a Tempfile is there. #{FoolsGold::HINT}"
  end
end
