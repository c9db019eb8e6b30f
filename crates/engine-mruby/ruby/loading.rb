# What loads files, as Ruby sees it: require and its kin, and the classes that wait for their library.

class LoadError
  attr_accessor :path
end

module Kernel
  def require(name)
    FoolsGold::Loader.require(name)
  end

  def require_relative(name)
    FoolsGold::Loader.relative(name, FoolsGold.caller_file(1))
  end

  def load(name, _wrap = false)
    FoolsGold::Loader.load(name)
  end

  # Every gem that is there can be required; this only asks.
  def gem(name, *_versions)
    FoolsGold::Loader.gems.demand(name)
  end

  def __dir__
    file = FoolsGold.caller_file(1)
    return file && File.dirname(File.expand_path(file)) unless file&.start_with?(FoolsGold::Loader::RUBY)
    File.dirname(file)
  end

  # The library has one of its own, which this makes way for.
  def URI(text)
    FoolsGold::Loader.library("uri")
    URI(text)
  end

  private :require, :require_relative, :load, :gem, :__dir__
end

module FoolsGold
  class << self
    # The folder of the application.
    attr_accessor :root
  end

  # Of these mruby has its own, which know less.
  %i[Time Data].each { |name| Object.__send__(:remove_const, name) if Object.const_defined?(name) }

  # Loaded when first named: most applications need none of them, and every interpreter would pay for all.
  {
    "foolsgold/thread" => %i[Thread ThreadError ThreadGroup],
    "foolsgold/queue" => %i[Queue SizedQueue ClosedQueueError ConditionVariable],
    "foolsgold/objectspace" => %i[ObjectSpace],
    "foolsgold/encoding" => %i[Encoding EncodingError],
    "rbconfig" => %i[RbConfig],
    "fileutils" => %i[FileUtils],
    "foolsgold/rubygems" => %i[Gem],
    "monitor" => %i[Monitor MonitorMixin],
    "foolsgold/time" => %i[Time],
    "date" => %i[Date],
    "foolsgold/datetime" => %i[DateTime],
    "tempfile" => %i[Tempfile],
    "foolsgold/marshal" => %i[Marshal],
    "erb" => %i[ERB],
    "foolsgold/data" => %i[Data],
    "set" => %i[Set],
    "json" => %i[JSON],
    "uri" => %i[URI],
    "cgi" => %i[CGI],
    "logger" => %i[Logger],
    "pathname" => %i[Pathname],
    "pp" => %i[PP],
    "foolsgold/rational" => %i[Rational],
    "foolsgold/complex" => %i[Complex],
    "foolsgold/did_you_mean" => %i[DidYouMean]
  }.each { |library, names| names.each { |name| FoolsGold.wait_for(Object, name, library) } }
  FoolsGold.wait_for(self, :Late, "foolsgold/late")
end
