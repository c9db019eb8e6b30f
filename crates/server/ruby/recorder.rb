# frozen_string_literal: true

# The second part for files that are Ruby: writes down each directive with its line. What they mean is decided in Rust.

module FoolsGold
  # What `self` is in the file. Written without the module around it, so that constants are looked up from the top.
  class Recorder; end
end

class FoolsGold::Recorder
  attr_reader :calls

  # `names` are the directives of the server; `workers` is how many the command line asks for, if it does.
  def initialize(path, names, workers)
    @files = [path]
    @calls = []
    @later = []
    @values = {}
    @workers = workers
    recorded = names.reject { |name| PumaWords.method_defined?(name) }
    recorded.each { |name| define_singleton_method(name) { |*args, &block| record(name, args, block) } }
    # These do something while the file is read.
    extend(PumaWords) if names.include?("plugin")
    extend(UnicornWords) if names.include?("worker_processes")
  end

  def read(path = @files.first)
    instance_eval(File.read(path, encoding: "UTF-8"), path, 1)
  end

  # Blocks for one mode of Puma wait until it is known.
  def finish
    mode = (@workers || @values["workers"] || ENV["WEB_CONCURRENCY"]).to_s
    mode = ["", "0"].include?(mode) ? "single" : "cluster"
    @later.each { |name, block| instance_eval(&block) if name == mode }
  end

  private

  def record(name, args, block)
    place = caller_locations.find { |frame| @files.include?(frame.path) }
    written = [name, args.map { |one| short(one) }.join(", "), ("do ... end" if block)].compact.reject(&:empty?)
    @values[name] = args.first
    @calls << { "name" => name, "line" => place&.lineno, "file" => place&.path, "block" => !block.nil?,
                "args" => args.map { |one| FoolsGold.plain(one) }, "written" => FoolsGold.utf8(written.join(" ")) }
    nil
  end

  def short(value)
    text = FoolsGold.plain(value) == "(#{value.class})" ? "(#{value.class})" : value.inspect
    text.length > 60 ? "#{text[0, 57]}..." : text
  end

  # A slip of the pen, or a directive of a newer version.
  def method_missing(name, *args, &block)
    record(name.to_s, args, block)
  end

  def respond_to_missing?(*)
    false
  end

  # What Puma's files may ask and do.
  module PumaWords
    def get(name, default = nil)
      @values.fetch(name.to_s, default)
    end

    def default_host
      @values.fetch("set_default_host", "0.0.0.0")
    end

    def load(path)
      said = File.expand_path(path)
      path = [said, "#{said}.rb"].find { |one| File.file?(one) } || said
      @files << path
      read(path)
    end

    %w[single cluster].each do |mode|
      define_method(mode) { |&block| @later << [mode, block] }
    end
  end

  # What Unicorn's files may ask.
  module UnicornWords
    def set
      @values.transform_keys(&:to_sym)
    end
  end
end

path, names, workers = ARGV
FoolsGold.set_up_bundler
FoolsGold.load_usual
recorder = FoolsGold::Recorder.new(path, names.split(","), workers)
begin
  recorder.read
  recorder.finish
rescue Exception => error # `exit` and a syntax error are no more of a configuration than any other.
  failure = error
end
FoolsGold.tell(recorder.calls, failure, path)
