# File and Dir, for reading: whole files, what they are, and the arithmetic of paths. Writing raises and says so.

class File
  SEPARATOR = Separator = "/"
  ALT_SEPARATOR = nil

  class << self
    # The whole file; the errors of the system (Errno::ENOENT, EACCES, EISDIR) as in CRuby.
    def read(path, *)
      FoolsGold::Native.file_read(path_of(path))
    end
    alias binread read

    def readlines(path, chomp: false)
      read(path).each_line.map { |line| chomp ? line.chomp : line }
    end

    def exist?(path)
      !stat_of(path).nil?
    end

    def file?(path)
      stat_of(path)&.first == "file"
    end

    def directory?(path)
      stat_of(path)&.first == "directory"
    end

    def readable?(path)
      stat_of(path)&.last == true
    end

    def size(path)
      existing(path)[1]
    end

    def mtime(path)
      Time.at(existing(path)[2])
    end

    def expand_path(path, base = nil)
      FoolsGold::Native.file_expand(path_of(path), base && path_of(base))
    end
    alias absolute_path expand_path
    alias realpath expand_path

    def join(*parts)
      parts.flatten.map { |part| path_of(part) }.inject do |left, right|
        left = left[0...-1] while left.end_with?("/")
        right = right[1..-1] while right.start_with?("/")
        "#{left}/#{right}"
      end || ""
    end

    def basename(path, suffix = nil)
      path = path_of(path)
      path = path[0...-1] while path.size > 1 && path.end_with?("/")
      name = path == "/" ? path : path[((path.rindex("/") || -1) + 1)..-1]
      return name[0...(name.rindex(".") || name.size)] if suffix == ".*" && name.rindex(".").to_i > 0
      suffix && name != suffix && name.end_with?(suffix) ? name[0...-suffix.size] : name
    end

    def dirname(path)
      path = path_of(path)
      path = path[0...-1] while path.size > 1 && path.end_with?("/")
      slash = path.rindex("/")
      return "." unless slash
      slash == 0 ? "/" : path[0...slash]
    end

    def extname(path)
      name = basename(path)
      dot = name.rindex(".")
      dot.nil? || dot == 0 || dot == name.size - 1 ? "" : name[dot..-1]
    end

    def split(path)
      [dirname(path), basename(path)]
    end

    # For reading only: the file's text as a StringIO.
    def open(path, *)
      io = StringIO.new(read(path))
      block_given? ? yield(io) : io
    end

    def write(*)
      raise NotImplementedError, "File.write: #{FoolsGold::HINT}"
    end

    private

    def path_of(path)
      path = path.to_path if path.respond_to?(:to_path)
      raise TypeError, "no implicit conversion of #{path.class} into String" unless path.is_a?(String)
      path
    end

    def stat_of(path)
      FoolsGold::Native.file_stat(path_of(path))
    end

    def existing(path)
      stat_of(path) || raise(Errno::ENOENT, path_of(path))
    end
  end
end

class Dir
  class << self
    def pwd
      FoolsGold::Native.file_expand(".", nil)
    end
    alias getwd pwd

    def exist?(path)
      File.directory?(path)
    end

    def children(path)
      FoolsGold::Native.dir_entries(path)
    end

    def entries(path)
      [".", ".."] + children(path)
    end

    def glob(*)
      raise NotImplementedError, "Dir.glob: #{FoolsGold::HINT}"
    end
    alias [] glob
  end
end
