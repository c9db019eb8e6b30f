# File and Dir for reading: whole files, their metadata, and paths as text. Open files, File::Stat and patterns are in
# library/core/files.rb, which is loaded on first use. Writing raises a NotImplementedError that names the alternatives.

class IO
  SEEK_SET = 0
  SEEK_CUR = 1
  SEEK_END = 2
end

class File < IO
  SEPARATOR = Separator = "/"
  ALT_SEPARATOR = nil
  PATH_SEPARATOR = ":"

  class << self
    include FoolsGold::Opening

    # The whole file or a part of it, with CRuby's errors (Errno::ENOENT, EACCES, EISDIR).
    def read(path, length = nil, offset = nil, **options)
      return FoolsGold::Native.file_read(path_of(path)) unless length || offset || !options.empty?
      from, to = FoolsGold.foreign(options[:mode], options)
      return to ? binread(path).encode(to, from) : binread(path).force_encoding(from) if from && !length && !offset
      open(path, **options) do |file|
        file.seek(offset) if offset
        file.read(length)
      end
    end

    def binread(path, length = nil, offset = nil)
      length || offset ? read(path, length, offset, mode: "rb") : read(path).__binary!(true)
    end

    def readlines(path, separator = "\n", chomp: false, **options)
      read(path, **options).lines(separator, chomp: chomp)
    end

    def exist?(path) = !stat_of(path).nil?
    def file?(path) = stat_of(path)&.first == "file"
    def directory?(path) = stat_of(path)&.first == "directory"
    def readable?(path) = stat_of(path)&.last == true
    def size(path) = existing(path)[1]
    def mtime(path) = Time.at(existing(path)[2])

    def size?(path)
      size = stat_of(path)&.[](1)
      size == 0 ? nil : size
    end

    def zero?(path) = stat_of(path)&.[](1) == 0
    alias empty? zero?

    def path(path) = path_of(path).dup

    def expand_path(path, base = nil)
      FoolsGold::Native.file_expand(from_home(path_of(path)), base && from_home(path_of(base)))
    end

    def absolute_path(path, base = nil)
      FoolsGold::Native.file_expand(path_of(path), base && path_of(base))
    end

    # The absolute path without symbolic links.
    def realpath(path, base = nil)
      FoolsGold::Native.file_real(expand_path(path, base))
    end

    def join(*parts)
      # An empty Array counts as an empty part.
      parts = parts.map { |part| Array === part ? join(*part) : path_of(part) }
      # A copy, since the caller may change the result.
      return parts.first.to_s.dup if parts.size < 2
      parts.inject do |left, right|
        # Where both sides have slashes, only those of the right side stay.
        left = left[0...-1] while right.start_with?("/") && left.end_with?("/")
        left.end_with?("/") || right.start_with?("/") ? "#{left}#{right}" : "#{left}/#{right}"
      end
    end

    def basename(path, suffix = nil)
      path = path_of(path)
      path = path[0...-1] while path.size > 1 && path.end_with?("/")
      name = path == "/" ? path : path[((path.rindex("/") || -1) + 1)..-1]
      # A dot at the beginning begins no suffix: ".profile".
      return name[0...(name.rindex(".") || name.size)] if suffix == ".*" && name.rindex(".").to_i > 0
      suffix && name != suffix ? name.delete_suffix(suffix) : name
    end

    def dirname(path, level = 1)
      raise ArgumentError, "negative level: #{level}" if level < 0
      path = path_of(path)
      path = path[1..-1] while path.start_with?("//")
      return path.empty? ? "." : path.dup if level == 0
      path = path[0...-1] while path.size > 1 && path.end_with?("/")
      slash = path.rindex("/")
      return "." unless slash
      slash -= 1 while slash > 0 && path[slash - 1] == "/"
      above = slash == 0 ? "/" : path[0...slash]
      level > 1 ? dirname(above, level - 1) : above
    end

    def extname(path)
      name = basename(path)
      dot = name.rindex(".")
      dot.nil? || name[0...dot].b.delete(".").empty? ? "" : name[dot..-1]
    end

    def split(path) = [dirname(path), basename(path)]

    private

    def path_of(path) = FoolsGold.path(path)

    # A path that begins with `~` or `~user` below that user's home folder.
    def from_home(path)
      return path unless path.start_with?("~")
      user, rest = path[1..].split("/", 2)
      home = user.nil? || user.empty? ? Dir.home : Dir.home(user)
      raise ArgumentError, "non-absolute home" unless home.start_with?("/")
      rest ? "#{home}/#{rest}" : home
    end

    def stat_of(path)
      FoolsGold::Native.file_stat(path_of(path))
    end

    def existing(path)
      stat_of(path) || raise(Errno::ENOENT, path_of(path))
    end
  end

  # Loads the library that redefines this method, and calls it.
  def initialize(*args, **options)
    FoolsGold::Loader.library("foolsgold/files")
    initialize(*args, **options)
  end
end

class Dir
  def initialize(*args)
    FoolsGold::Loader.library("foolsgold/files")
    initialize(*args)
  end

  def self.pwd = FoolsGold::Native.file_expand(".", nil)
  def self.exist?(path) = File.directory?(path)
  def self.children(path, **) = FoolsGold::Native.dir_entries(File.path(path))
  def self.entries(path, **) = [".", ".."] + children(path)

  class << self
    alias getwd pwd
  end
end

[IO, Dir].each { |owner| owner.extend(FoolsGold::RestOfFiles) }
FoolsGold.wait_for(File, :Stat, "foolsgold/files")
