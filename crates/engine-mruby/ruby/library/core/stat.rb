# File::Stat, and other methods of File that take a path.

class File
  # Metadata of a file.
  class Stat
    include Comparable

    attr_reader :ftype, :size, :mtime, :atime, :ctime, :mode, :ino, :dev, :nlink, :uid, :gid, :blksize, :blocks

    def initialize(file, follow = true)
      file = File.path(file) unless file.is_a?(FoolsGold::Handle)
      @ftype, @size, modified, accessed, changed, @readable, @mode, @ino, @dev, @nlink, @uid, @gid, @blksize, @blocks =
        FoolsGold::Native.file_stat_all(file, follow)
      @mtime = Time.at(modified)
      @atime = Time.at(accessed)
      @ctime = Time.at(changed)
    end

    def <=>(other) = mtime <=> other.mtime
    def file? = ftype == "file"
    def directory? = ftype == "directory"
    def symlink? = ftype == "link"
    def pipe? = ftype == "fifo"
    def socket? = ftype == "socket"
    def chardev? = ftype == "characterSpecial"
    def blockdev? = ftype == "blockSpecial"
    def readable? = @readable
    def writable? = false
    def executable? = mode & 0o111 != 0
    def size? = size == 0 ? nil : size
    def zero? = size == 0
    def world_readable? = mode & 0o004 == 0 ? nil : mode & 0o777
    def setuid? = mode & 0o4000 != 0
    def sticky? = mode & 0o1000 != 0
  end

  class << self
    def stat(path) = Stat.new(path)
    def lstat(path) = Stat.new(path, false)
    def ftype(path) = lstat(path).ftype
    def atime(path) = stat(path).atime
    def ctime(path) = stat(path).ctime
    def identical?(left, right) = [stat(left), stat(right)].map { |one| [one.dev, one.ino] }.uniq.size == 1
    alias realdirpath realpath

    def symlink?(path)
      lstat(path).symlink?
    rescue SystemCallError
      false
    end

    %i[executable? world_readable? pipe? socket? blockdev? chardev?].each do |name|
      define_method(name) do |path|
        exist?(path) ? stat(path).__send__(name) : false
      end
    end
    alias executable_real? executable?
    alias readable_real? readable?

    def writable?(_path) = false
    alias writable_real? writable?

    def absolute_path?(path) = path_of(path).start_with?("/")

    def fnmatch(pattern, path, flags = 0)
      FoolsGold::Native.file_fnmatch(path_of(pattern), path_of(path), flags)
    end
    alias fnmatch? fnmatch

    def foreach(path, *args, chomp: false, **options, &block)
      unless block
        return Enumerator.new { |lines| foreach(path, *args, chomp: chomp, **options) { |line| lines << line } }
      end
      open(path, **options) { |file| file.each(*args, chomp: chomp, &block) }
      nil
    end

    names = %i[write binwrite delete unlink rename chmod chown lchmod symlink link mkfifo truncate utime]
    FoolsGold.refuse(self, names, "File.", FoolsGold::READ_ONLY)
  end
end
