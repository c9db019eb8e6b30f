# frozen_string_literal: true

# Another server's configuration while it is evaluated: each directive is written down with its line, blocks are kept,
# nothing is done. What directives mean is decided in Rust, when hooks run in old_hooks.rb.

module FoolsGold
  # What `self` is in the file. Written without the module around it, so that constants are looked up from the top.
  class OldFile; end
end

class FoolsGold::OldFile
  # Own methods begin with an underscore: all other names are directives.
  #
  # `names` are the directives of the server; `workers` is how many the command line asks for, if it does.
  def initialize(path, kind, names: [], workers: nil)
    @_said = FoolsGold::Directives.new(path, workers)
    words = kind == "puma" ? FoolsGold::PumaWords : FoolsGold::UnicornWords
    extend(words)
    singleton_class.define_singleton_method(:const_missing) { |name| words.const_missing_in_file(name) }
    # Methods of Kernel may have the name of a directive.
    names.reject { |name| words.method_defined?(name) }.each do |name|
      define_singleton_method(name) { |*args, &block| @_said.record(name, args, block) }
    end
    @config = FoolsGold::PumaConfig.new(@options = FoolsGold::PumaOptions.new(@_said)) if kind == "puma"
  end

  # What the file has said so far.
  def _said
    @_said
  end

  # Reads the file to its end, then the blocks for one mode of Puma, which is known by then.
  def _evaluate
    FoolsGold::Directives.current = @_said
    path = @_said.path
    instance_eval(File.read(path, encoding: "UTF-8"), path, 1)
    @_said.blocks_of_mode.each { |block| instance_eval(&block) }
    self
  end

  private

  # A directive of a plugin; or a slip of the pen, or one of another version, which the file may rescue.
  def method_missing(name, *args, &block)
    return @_said.record(name, args, block) if @_said.may_be_of_plugin?(name)

    @_said.refuse(name, args, block)
  end

  def respond_to_missing?(*)
    false
  end
end
