# frozen_string_literal: true

# Another server's configuration while it is evaluated for its hooks: blocks and values are kept, nothing is done.

module FoolsGold
  # What `self` is in the file. Written without the module around it, so that constants are looked up from the top.
  class OldFile; end
end

class FoolsGold::OldFile
  # Each with its name, its key and its block; and the last value of each directive.
  attr_reader :hooks, :config

  def initialize(path)
    @path = path
    @hooks = []
    @config = {}
    @modes = []
  end

  def evaluate(path = @path)
    instance_eval(File.read(path, encoding: "UTF-8"), path, 1)
    return unless path == @path

    workers = (@config[:workers] || ENV["WEB_CONCURRENCY"]).to_s
    mode = ["", "0"].include?(workers) ? :single : :cluster
    @modes.each { |name, block| instance_eval(&block) if name == mode }
  end

  # Puma's words for reading more, for asking, and for what holds in one mode only.
  def load(path)
    path = File.expand_path(path)
    path += ".rb" unless File.file?(path)
    evaluate(path)
  end

  def get(name, default = nil)
    @config.fetch(name.to_sym, default)
  end

  def default_host
    @config.fetch(:set_default_host, "0.0.0.0")
  end

  %i[single cluster].each do |mode|
    define_method(mode) { |&block| @modes << [mode, block] }
  end

  # Unicorn's word for asking.
  def set
    @config
  end

  private

  # What is not known was looked at when the server started.
  def method_missing(name, *args, &block)
    @config[name] = args.first unless args.empty?
    @hooks << [name, args.first, block] if block
    nil
  end

  def respond_to_missing?(*)
    true
  end
end
