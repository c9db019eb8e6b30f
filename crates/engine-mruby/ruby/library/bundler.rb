# Bundler, as far as config.ru uses it: gems are found without it, and Bundler.require reads the Gemfile for what is to
# be required.

module Bundler
  # What a Gemfile says: which gems, in which groups, required by which names.
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

    def root = FoolsGold.root
    def with_unbundled_env = yield
    alias with_original_env with_unbundled_env
    alias with_clean_env with_unbundled_env

    private

    # A gem named rack-session may be required as rack/session; one that has neither needs no requiring.
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
