# Kernel#require, require_relative and load, and the constants that load their library on first use.

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

  # Checks that a gem is there; every installed gem can be required without it.
  def gem(name, *_versions)
    FoolsGold::Loader.gems.demand(name)
  end

  # Files of Ruby's own library have no folder in the file system, so their path is not expanded.
  def __dir__
    file = FoolsGold.caller_file(1)
    return file && File.dirname(File.expand_path(file)) unless file&.start_with?(FoolsGold::Loader::RUBY)
    File.dirname(file)
  end

  # Loads the library, which redefines this method.
  def URI(text)
    FoolsGold::Loader.library("uri")
    URI(text)
  end

  private :require, :require_relative, :load, :gem, :__dir__
end

module FoolsGold
  class << self
    # The folder of the application's rackup file.
    attr_accessor :root
  end

  # mruby's own classes of these names have fewer methods.
  %i[Time Data].each { |name| Object.__send__(:remove_const, name) if Object.const_defined?(name) }

  # Constants that load a library on first use. Most applications need few of them, and loading all would cost every
  # interpreter time and memory.
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
