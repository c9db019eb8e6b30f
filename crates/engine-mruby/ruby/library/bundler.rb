# Bundler, as far as config.ru uses it. Gems are found without it (gems.rb); Bundler.require requires the gems of the
# Gemfile.

module Bundler
  # A Gemfile, evaluated: the gems, their groups, and the names to require.
  class Gemfile
    attr_reader :gems

    def initialize(path)
      @gems = []
      @groups = [:default]
      instance_eval(File.read(path), path) if File.file?(path)
    end

    def gem(name, *_versions, **options)
      groups = Array(options[:group] || options[:groups])
      groups = @groups if groups.empty?
      names = options.key?(:require) ? Array(options[:require]).select { |one| one } : [name]
      # `require: false` leaves no names.
      names = [name] if options[:require] == true
      @gems << [name, groups, names, options.key?(:require)]
    end

    def group(*names, **)
      before = @groups
      @groups = names
      yield
    ensure
      @groups = before
    end

    def source(*, **)
      yield if block_given?
    end
    alias path source
    alias git source
    alias platforms source
    alias platform source

    def ruby(*, **) = nil
    def gemspec(*, **) = nil
    def git_source(*) = nil
  end

  class << self
    def setup(*) = self

    def require(*groups)
      groups = [:default] if groups.empty?
      groups = groups.map(&:to_sym)
      gemfile = Gemfile.new(ENV["BUNDLE_GEMFILE"] || File.join(FoolsGold.root || Dir.pwd, "Gemfile"))
      gemfile.gems.each do |name, its_groups, names, said|
        next unless its_groups.any? { |group| groups.include?(group) }
        names.each { |one| require_one(one, !said) }
      end
    end

    def root = Pathname.new(FoolsGold.root || Dir.pwd)
    def with_unbundled_env = yield
    alias with_original_env with_unbundled_env
    alias with_clean_env with_unbundled_env

    private

    # Requires a gem: one named rack-session may be required as rack/session. A gem without such a file is left out,
    # unless the Gemfile names the file.
    def require_one(name, guess)
      FoolsGold::Loader.require(name)
    rescue LoadError => error
      raise unless guess && error.path == name
      begin
        FoolsGold::Loader.require(name.tr("-", "/"))
      rescue LoadError => again
        raise unless again.path == name.tr("-", "/")
      end
    end
  end
end
