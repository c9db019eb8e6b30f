# The loader behind require, require_relative and load. It finds files below $LOAD_PATH or beside the caller, built-in
# libraries, and files of gems (library/gems.rb), and loads each once.

module FoolsGold
  # Names of built-in libraries. Rust reads this list from the source (libraries.rs), so it must stay a list of plain
  # words. Some have a file of ours that is loaded by the first require (prelude.rs).
  BUILT_IN = %w[
    json json/ext securerandom time stringio strscan cgi cgi/util cgi/escape cgi/cookie erb erb/util erb/escape
    erb/def_method enumerator fiber rational thread rack rack/builder rack/urlmap rack/lint rbconfig rbconfig/sizeof
    digest digest/md5 digest/sha1 digest/sha2 openssl openssl/digest openssl/hmac openssl/cipher zlib tempfile tmpdir
    date uri prime ipaddr logger
    pathname.so psych.so did_you_mean bigdecimal bigdecimal/util etc
    uri/common uri/generic uri/http uri/https uri/ftp uri/file uri/mailto uri/ws uri/wss uri/rfc2396_parser
    uri/rfc3986_parser uri/version
  ].freeze

  # Names that stand for the file of another library.
  SAME = { "tmpdir" => "tempfile", "rbconfig/sizeof" => "rbconfig", "net/https" => "net/http",
           "did_you_mean" => "foolsgold/did_you_mean" }.freeze
  # Libraries with one file for all their parts, such as digest/md5.
  WHOLE = %w[json digest openssl cgi erb bundler uri].freeze

  # Libraries of which only the part is here that works in one thread and without RubyGems. An application that requires
  # one of them runs better on CRuby, which is then chosen unless --engine is given.
  STAND_INS = %w[
    monitor timeout bundler bundler/setup rubygems rubygems/version fileutils sqlite3 net/http net/https redis
  ].freeze

  # Built-in libraries that a gem of the application may replace.
  REPLACEABLE = %w[rack rack/lint rack/builder rack/urlmap].freeze

  # The gem concurrent-ruby chooses its code by the engine; for an unknown one it locks around a block that locks again,
  # which is an error here. So its module gets a RUBY_ENGINE of its own: CRuby's code works here.
  CONCURRENT = "/concurrent/utility/engine.rb".freeze

  module Loader
    # Prefix of the paths of Ruby's own library (RUBY_FOLDER in build.rs).
    RUBY = "<ruby>"

    LOADED = []
    # Files that are being loaded; they join $LOADED_FEATURES afterwards.
    LOADING = {}
    LIBRARIES = {}

    class << self
      # Loads a library or file and returns true; false where it was loaded before. The LoadError says where was
      # searched.
      def require(name)
        name = FoolsGold.path(name)
        path = find(name)
        return load_once(path) if path
        plain = without_suffix(name)
        built_in = Loader.built_in?(plain) || STAND_INS.include?(plain)
        # Files of the application come first, then built-in libraries, then gems: a gem named like a built-in library,
        # perhaps with a C extension, must not win.
        return library(plain) if built_in && !REPLACEABLE.include?(plain)
        path = gems.find(plain)
        return load_once(path) if path
        return library(plain) if built_in
        raise missing(name)
      end

      # Whether the name is that of a built-in library: one of the list, or a file of Ruby's own library (cruby.sha256).
      def built_in?(name) = BUILT_IN.include?(name) || Native.library_known(name)

      def relative(name, from)
        return library(from_ruby(name, from)) if from&.start_with?(RUBY)
        base = from ? File.dirname(File.expand_path(from)) : nil
        path = candidate(File.expand_path(FoolsGold.path(name), base))
        raise error("cannot load such file -- #{File.expand_path(name, base)}", name) unless path
        load_once(path)
      end

      def load(name)
        name = FoolsGold.path(name)
        path = File.file?(name) ? File.expand_path(name) : find(name)
        raise error("cannot load such file -- #{name}", name) unless path
        run(path)
        true
      end

      # Loads a built-in library. Returns whether it was loaded now; false also for one without a file.
      def library(name)
        name = SAME.fetch(name) { WHOLE.include?(name.split("/").first) ? name.split("/").first : name }
        return false if LIBRARIES[name]
        LIBRARIES[name] = true
        loaded = nil
        begin
          loaded = FoolsGold.run_library(name)
        ensure
          # After an exception, such as that of a Timeout around it, it may be required again.
          LIBRARIES.delete(name) if loaded.nil?
        end
        LOADED << "#{RUBY}/#{name}.rb"
        loaded
      end

      def gems
        library("foolsgold/gems")
        Gems
      end

      # The Ruby file of a path, given with or without its suffix; nil where there is none. A LoadError for a C
      # extension.
      def candidate(path)
        return path if path.end_with?(".rb") && file?(path)
        return "#{path}.rb" if file?("#{path}.rb")
        return nil unless File.file?(path.end_with?(".so") ? path : "#{path}.so")
        raise error("#{path} is a C extension, which only CRuby can load. #{HINT}", path)
      end

      def file?(path) = Native.source_known(path) || File.file?(path)

      def load_once(path)
        return false if LOADED.include?(path) || LOADING[path]
        LOADING[path] = true
        tell_concurrent if path.end_with?(CONCURRENT)
        begin
          run(path)
        ensure
          # Also after an exception: the file may be required again.
          LOADING.delete(path)
        end
        LOADED << path
        true
      end

      private

      def tell_concurrent
        Object.const_set(:Concurrent, Module.new) unless Object.const_defined?(:Concurrent)
        Object.const_get(:Concurrent).const_set(:RUBY_ENGINE, "ruby")
      end

      def find(name)
        return candidate(File.expand_path(name, Dir.pwd)) if name.start_with?("./", "../")
        return candidate(File.expand_path(name)) if name.start_with?("/", "~")
        $LOAD_PATH.each do |folder|
          path = candidate(File.expand_path(name, folder.to_s))
          return path if path
        end
        nil
      end

      # The name of the library that a file of Ruby's own library loads by require_relative.
      def from_ruby(name, from)
        path = without_suffix(File.expand_path(name, File.dirname(from.delete_prefix(RUBY)))).delete_prefix("/")
        built_in?(path) ? path : raise(error("cannot load such file -- #{path}", path))
      end

      def without_suffix(name)
        name = name.delete_prefix("#{RUBY}/")
        name.end_with?(".rb") ? name[0...-3] : name
      end

      def missing(name)
        error("cannot load such file -- #{name}. #{HINT} It is no library that is built in, no file below $LOAD_PATH " \
          "(#{shortened($LOAD_PATH)}), and in no gem (#{gems.summary})", name)
      end

      # The first three of a list of folders, as text.
      def shortened(folders)
        return "which is empty" if folders.empty?
        folders.first(3).join(", ") + (folders.size > 3 ? " and #{folders.size - 3} more" : "")
      end

      def error(message, name)
        error = LoadError.new(message)
        error.path = name
        error
      end

      def run(path)
        FoolsGold.run_source(FoolsGold::Native.source_read(path), path, TOP)
      end
    end
  end
end

# The `self` of the top level.
FoolsGold::TOP = self

$LOAD_PATH = ENV["RUBYLIB"].to_s.split(":")
$LOADED_FEATURES = FoolsGold::Loader::LOADED
