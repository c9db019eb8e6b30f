# ERB: templates, made into Ruby by Rust (crate ruby-stdlib), and ERB::Util.

class ERB
  VERSION = "4.0.3"
  def self.version = VERSION

  # Both as ERB::Util.html_escape and, included, as html_escape.
  module Escape
    def html_escape(text) = FoolsGold::Native.html_escape(text.to_s)
    module_function :html_escape
  end

  module Util
    def html_escape(text) = FoolsGold::Native.html_escape(text.to_s)
    alias h html_escape

    def url_encode(text) = FoolsGold::Native.url_escape(text.to_s)
    alias u url_encode

    module_function :html_escape, :h, :url_encode, :u
  end

  # What is asked of it by those who compile templates themselves.
  class Compiler
    attr_reader :trim_mode

    def initialize(trim_mode)
      @trim_mode = trim_mode
    end

    def compile(template) = [FoolsGold::Native.erb_compile(template, @trim_mode, "_erbout"), nil, nil]
  end

  attr_reader :src
  attr_accessor :filename, :lineno

  def initialize(template, safe_level = nil, old_trim = nil, old_eoutvar = "_erbout", trim_mode: old_trim,
                 eoutvar: old_eoutvar)
    @src = FoolsGold::Native.erb_compile(template, trim_mode, eoutvar)
    @lineno = 1
    @_init = true
  end

  def location=(place)
    @filename, line = place
    @lineno = line if line
  end

  def make_compiler(trim_mode) = Compiler.new(trim_mode)

  # Without a binding it is the same program each time, and compiled once.
  def result(place = nil)
    return eval(@src, place, @filename || "(erb)", @lineno) if place
    (@program ||= program("")).call
  end

  # With the pairs as local variables, and nothing else of this world.
  def result_with_hash(values)
    taken = values.keys.map { |name| "#{name} = __values[:#{name}]; " }.join
    program("(__values)", taken).call(values.transform_keys(&:to_sym))
  end

  def run(place = nil) = print(result(place))

  # The template as a method; its arguments stand in the name.
  def def_method(mod, name, filename = @filename || "(ERB)")
    mod.module_eval("def #{name}; #{@src}\nend", filename, @lineno)
    name[/\A[^(\s]+/].to_sym
  end

  def program(arguments, before = "")
    FoolsGold::TOP.instance_eval("->#{arguments} { #{before}#{@src}\n}", @filename || "(erb)", @lineno)
  end
  private :program

  def def_module(name = "erb")
    made = Module.new
    def_method(made, name)
    made
  end

  def def_class(superclass = Object, name = "result")
    made = Class.new(superclass)
    def_method(made, name)
    made
  end
end
