# require, require_relative and load: files below $LOAD_PATH or beside the caller, each loaded once.

module FoolsGold
  # Libraries whose classes are here already. Read from Rust as well (libraries.rs), so these stay plain words.
  BUILT_IN = %w[
    json securerandom time stringio cgi cgi/util cgi/escape erb uri set enumerator fiber rational pp thread
    rack rack/builder rack/urlmap rack/lint rbconfig
  ].freeze

  module Loader
    LOADED = []

    class << self
      # Whether something was loaded; LoadError names what was looked for and where.
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
        return path if path.end_with?(".rb") && file?(path)
        file?("#{path}.rb") ? "#{path}.rb" : nil
      end

      def file?(path)
        FoolsGold::Native.source_known(path) ? true : File.file?(path)
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
        FoolsGold.run_source(FoolsGold::Native.source_read(path), path, TOP)
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
