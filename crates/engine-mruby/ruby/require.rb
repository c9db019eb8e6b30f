# require, require_relative, load, __dir__ and File for reading.

module FoolsGold
  # Libraries whose classes are here already.
  BUILT_IN = %w[
    json securerandom time stringio cgi cgi/util cgi/escape erb uri set enumerator fiber rational pp thread
    rack rack/builder rack/urlmap rack/lint rbconfig
  ].freeze

  module Loader
    LOADED = []

    class << self
      def require(name, from)
        name = name.to_path if name.respond_to?(:to_path)
        raise TypeError, "no implicit conversion of #{name.class} into String" unless name.is_a?(String)
        path = find(name, from)
        return load_once(path) if path
        return false if BUILT_IN.include?(without_suffix(name))
        raise LoadError, "cannot load such file -- #{name}. It is no file below $LOAD_PATH " \
          "(#{$LOAD_PATH.empty? ? 'which is empty' : $LOAD_PATH.join(', ')}), and no library that is built in. #{HINT}"
      end

      def relative(name, from)
        base = from ? File.dirname(File.expand_path(from)) : nil
        path = candidate(File.expand_path(name, base))
        raise LoadError, "cannot load such file -- #{File.expand_path(name, base)}" unless path
        load_once(path)
      end

      def load(name)
        path = File.file?(name) ? File.expand_path(name) : find(name, nil)
        raise LoadError, "cannot load such file -- #{name}" unless path
        run(path)
        true
      end

      private

      def find(name, from)
        return candidate(File.expand_path(name, Dir.pwd)) if name.start_with?("./", "../")
        return candidate(name) if name.start_with?("/")
        $LOAD_PATH.each do |folder|
          path = candidate(File.expand_path(name, folder.to_s))
          return path if path
        end
        nil
      end

      def candidate(path)
        return path if path.end_with?(".rb") && File.file?(path)
        File.file?("#{path}.rb") ? "#{path}.rb" : nil
      end

      def without_suffix(name)
        name.end_with?(".rb") ? name[0...-3] : name
      end

      def load_once(path)
        return false if LOADED.include?(path)
        LOADED << path
        begin
          run(path)
        rescue Exception
          LOADED.delete(path)
          raise
        end
        true
      end

      def run(path)
        FoolsGold.run_source(File.read(path), path, TOP)
      end
    end
  end

  TOP = self.class == Module ? nil : self
end

$LOAD_PATH = []
$: = $LOAD_PATH
$LOADED_FEATURES = FoolsGold::Loader::LOADED
$" = $LOADED_FEATURES

module Kernel
  def require(name)
    FoolsGold::Loader.require(name, nil)
  end

  def require_relative(name)
    FoolsGold::Loader.relative(name, FoolsGold.caller_file(1))
  end

  def load(name, _wrap = false)
    FoolsGold::Loader.load(name)
  end

  def __dir__
    file = FoolsGold.caller_file(1)
    file && File.dirname(File.expand_path(file))
  end

  def autoload(name, _path)
    raise NotImplementedError, "autoload of #{name}: #{FoolsGold::HINT}"
  end
end

class File
  SEPARATOR = Separator = "/"
  ALT_SEPARATOR = nil

  class << self
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
