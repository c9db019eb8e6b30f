# What require, require_relative and load find: files below $LOAD_PATH or beside the caller, libraries that are built
# in, and files of gems (library/gems.rb), each loaded once.

module FoolsGold
  # Libraries whose classes are here. Read from Rust as well (libraries.rs), so these stay plain words. Some have a file
  # of ours that is loaded when they are first required (prelude.rs).
  BUILT_IN = %w[
    json securerandom time stringio strscan cgi cgi/util cgi/escape cgi/cookie erb erb/util erb/escape enumerator
    fiber rational thread rack rack/builder rack/urlmap rack/lint rbconfig rbconfig/sizeof digest digest/md5 digest/sha1
    digest/sha2 openssl openssl/digest openssl/hmac openssl/cipher zlib tempfile tmpdir date uri prime ipaddr logger
    pathname.so psych.so did_you_mean bigdecimal bigdecimal/util
  ].freeze

  # Names that mean the file of another, and libraries whose parts are in their one file.
  SAME = { "tmpdir" => "tempfile", "rbconfig/sizeof" => "rbconfig", "net/https" => "net/http",
           "did_you_mean" => "foolsgold/did_you_mean" }.freeze
  WHOLE = %w[digest openssl cgi erb bundler].freeze

  # Those that are here only as far as they mean anything in one thread and without RubyGems. An application that
  # requires one of them is better off on CRuby, and gets it where nobody has said which engine it should be.
  STAND_INS = %w[
    monitor timeout bundler bundler/setup rubygems rubygems/version fileutils sqlite3 net/http net/https redis
  ].freeze

  # Of those, what a gem beside the application may replace.
  REPLACEABLE = %w[rack rack/lint rack/builder rack/urlmap].freeze

  # The gem concurrent-ruby chooses its code by the engine, and for one that it does not know takes a lock around a
  # block that takes it again. Its module has a RUBY_ENGINE of its own, CRuby's, whose code runs here.
  CONCURRENT = "/concurrent/utility/engine.rb".freeze

  module Loader
    # What the build puts before the paths of files of Ruby's own library.
    RUBY = "<ruby>"

    LOADED = []
    # The files that are being loaded: $LOADED_FEATURES gets them when they are.
    LOADING = {}
    LIBRARIES = {}

    class << self
      # Whether something was loaded; LoadError names what was looked for and where.
      def require(name)
        name = FoolsGold.path(name)
        path = find(name)
        return load_once(path) if path
        plain = without_suffix(name)
        built_in = Loader.built_in?(plain) || STAND_INS.include?(plain)
        return library(plain) if built_in && !REPLACEABLE.include?(plain)
        path = gems.find(plain)
        return load_once(path) if path
        return library(plain) if built_in
        raise missing(name)
      end

      # Whether it is a library of ours or a file of Ruby's own library (cruby.sha256).
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

      # A library of ours; whether it was loaded now, and not there from the beginning.
      def library(name)
        name = SAME.fetch(name) { WHOLE.include?(name.split("/").first) ? name.split("/").first : name }
        return false if LIBRARIES[name]
        LIBRARIES[name] = true
        loaded = FoolsGold.run_library(name)
        LOADED << "#{RUBY}/#{name}.rb"
        loaded
      end

      def gems
        library("foolsgold/gems")
        Gems
      end

      # The Ruby file that a name without its suffix may mean.
      def candidate(path)
        return path if path.end_with?(".rb") && file?(path)
        return "#{path}.rb" if file?("#{path}.rb")
        return nil unless File.file?(path.end_with?(".so") ? path : "#{path}.so")
        raise error("#{path} is a C extension, which only CRuby can load. #{HINT}", path)
      end

      def file?(path)
        FoolsGold::Native.source_known(path) ? true : File.file?(path)
      end

      def load_once(path)
        return false if LOADED.include?(path) || LOADING[path]
        LOADING[path] = true
        tell_concurrent if path.end_with?(CONCURRENT)
        begin
          run(path)
        ensure
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

      # What a file of Ruby's own library means with a path.
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

      # The first of a list, which may be long.
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

# What `self` is outside of any class.
FoolsGold::TOP = self

$LOAD_PATH = ENV["RUBYLIB"].to_s.split(":")
$LOADED_FEATURES = FoolsGold::Loader::LOADED
