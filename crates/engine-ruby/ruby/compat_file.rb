# frozen_string_literal: true

# Evaluation of another server's configuration: each directive is recorded with its line, blocks are kept, and nothing
# is done. Rust decides what directives mean, and compat_hooks.rb when hooks run.

module FoolsGold
  # The `self` of the file. Defined without a module around it, so that constants are looked up from the top.
  class CompatFile; end
end

class FoolsGold::CompatFile
  # Creates a file from what the server sends about it: the names of its directives, with commas, and what counts more
  # than the file, as texts, which are empty where there is nothing.
  def self.from_texts(path, kind, names, workers, daemonizes, host, port)
    flags = { daemonize: !daemonizes.empty? }
    flags[:host] = host unless host.empty?
    flags[:port] = port.to_i unless port.empty?
    new(path, kind, names: names.split(","), workers: (workers unless workers.empty?), flags: flags)
  end

  # Own methods begin with an underscore: all other names are directives.
  #
  # `names` are the directives of the server; `workers` is the number of workers that counts more than the file, if
  # there is one; `flags` are those of the command line for which a file may ask, by their names in Unicorn's `RACKUP`.
  def initialize(path, kind, names: [], workers: nil, flags: {})
    @_said = FoolsGold::Directives.new(path, workers)
    @_names = names
    words = kind == "puma" ? FoolsGold::PumaWords : FoolsGold::UnicornWords
    extend(words)
    words.start(path, flags) unless kind == "puma"
    singleton_class.define_singleton_method(:const_missing) { |name| words.const_missing_in_file(name) }
    # A directive may have the name of a Kernel method.
    names.reject { |name| words.method_defined?(name) }.each do |name|
      define_singleton_method(name) { |*args, &block| _give(name, args, block) }
    end
    return unless kind == "puma"

    @options = FoolsGold::PumaOptions.new(@_said, daemon: flags[:daemonize])
    @config = FoolsGold::PumaConfig.new(@options)
  end

  # The directives so far.
  def _said
    @_said
  end

  # Gives the constants of the file that have one process id another one.
  def _replace(pid, other)
    own = singleton_class
    own.constants(false).each do |name|
      next if own.autoload?(name)

      value = own.const_get(name, false)
      next unless Integer === value && value == pid && value != other

      own.__send__(:remove_const, name)
      own.const_set(name, other)
    end
  end

  # Evaluates the file, then the blocks for the mode of Puma: for the given one, or for that which is known by then.
  def _evaluate(mode = nil)
    FoolsGold::Directives.current = @_said
    # As in Puma's process: libraries that the file requires may ask whether it is there.
    FoolsGold::PumaWords.advertise(@_said) if is_a?(FoolsGold::PumaWords)
    is_a?(FoolsGold::UnicornWords) ? FoolsGold::UnicornWords.lend { _run } : _run
    replaced = FoolsGold::UnicornWords.replaced(@_said.path)
    @_said.note("Unicorn::HttpServer", replaced.keys, replaced.values.first) unless replaced.empty?
    @_said.blocks_of(mode || @_said.mode).each { |block| instance_eval(&block) }
    self
  end

  private

  # Records a directive. In a file of Puma it returns what Puma's directive returns, which the file may use.
  def _give(name, args, block)
    @_said.record(name, args, block)
    FoolsGold::PumaOptions.result(name, args) if is_a?(FoolsGold::PumaWords)
  end

  # Runs the file's own code. A method of its own, since it is this method that a `return` in the file ends.
  def _run
    path = @_said.path
    instance_eval(File.read(path, encoding: "UTF-8"), path, 1)
  rescue NoMethodError => error
    # Rails takes long to load: only for a file that needs it, and whose own directives are all known.
    is_directive = @_said.refusal&.error.equal?(error)
    raise if is_directive || !is_a?(FoolsGold::PumaWords) || !FoolsGold::PumaWords.require_rails

    @_said.calls.clear
    retry
  end

  # An unknown name: the directive of a plugin, or a typing error or a directive of another version, which the file may
  # rescue.
  def method_missing(name, *args, &block)
    return @_said.record(name, args, block) if @_said.may_be_of_plugin?(name)
    return _call_added(::Puma::DSL.instance_method(name), args, block) if _added?(name)

    @_said.refuse(name, args, block)
  end
  ruby2_keywords(:method_missing)

  def respond_to_missing?(name, *)
    _added?(name)
  end

  # Whether a library has added this directive to those of Puma.
  def _added?(name)
    is_there = is_a?(FoolsGold::PumaWords) && defined?(::Puma::DSL) && ::Puma::DSL.method_defined?(name)
    return false unless is_there

    own, its = %I[initialize #{name}].map { |one| ::Puma::DSL.instance_method(one).source_location&.first }
    own != its
  end

  # Runs such a directive of a library: it gives others, or sets options that the library reads.
  def _call_added(method, args, block)
    before = @_said.calls.size
    of_module = method.owner.instance_method(method.name) unless method.owner.is_a?(Class)
    # A method of a class runs for its objects only.
    result = of_module ? of_module.bind(self).call(*args, &block) : _dsl.public_send(method.name, *args, &block)
    @_said.calls.drop(before).each { |call| call.is_added = !@_names.include?(call.name) }
    result
  end

  # An object of Puma's class whose directives are those of this file.
  def _dsl
    @_dsl ||= ::Puma::DSL.allocate.tap do |dsl|
      file = self
      dsl.instance_variable_set(:@config, @config)
      dsl.instance_variable_set(:@options, @options)
      @_names.each { |name| dsl.define_singleton_method(name) { |*args, &block| file.__send__(name, *args, &block) } }
    end
  end
end
