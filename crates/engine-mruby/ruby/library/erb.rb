# ERB: templates, compiled to Ruby by Rust (ruby-stdlib/src/erb.rs), and ERB::Util.

class ERB
  VERSION = "4.0.3"
  def self.version = VERSION

  # html_escape, to be called on the module or as a method where it is included.
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

  # Methods from templates, for classes that extend themselves with this module.
  module DefMethod
    # Defines a method that runs a template, which is an ERB or the path of a file; its parameters are in the name:
    # "render(user)".
    def def_erb_method(name, template)
      return template.def_method(self, name) unless template.is_a?(String)
      ERB.new(File.read(template)).def_method(self, name, template)
    end
    module_function :def_erb_method
  end

  # The part of the compiler that libraries use which compile templates themselves.
  class Compiler
    attr_reader :trim_mode

    def initialize(trim_mode)
      @trim_mode = trim_mode
    end

    def compile(template) = [FoolsGold::Native.erb_compile(template, @trim_mode, "_erbout"), Encoding::UTF_8, nil]
  end

  attr_reader :src
  attr_accessor :filename, :lineno

  def initialize(template, safe_level = nil, old_trim = nil, old_eoutvar = "_erbout", trim_mode: old_trim,
                 eoutvar: old_eoutvar)
    @src = FoolsGold::Native.erb_compile(template, trim_mode, eoutvar)
    # That of the line before the template, which names the encoding.
    @lineno = 0
    @_init = true
  end

  def location=(place)
    @filename, line = place
    @lineno = line if line
  end

  def encoding = Encoding::UTF_8
  def make_compiler(trim_mode) = Compiler.new(trim_mode)

  # Runs the template. Without a binding the program is always the same, so it is compiled once.
  def result(place = nil)
    return eval(code, place, @filename || "(erb)", @lineno + 1) if place
    (@program ||= program("")).call
  end

  # Runs the template with the pairs as its only local variables.
  def result_with_hash(values)
    taken = values.keys.map { |name| "#{name} = __values[:#{name}]; " }.join
    program("(__values)", taken).call(values.transform_keys(&:to_sym))
  end

  def run(place = nil) = print(result(place))

  # Defines the template as a method of a module; its parameters are in the name: "render(user)".
  def def_method(mod, name, filename = @filename || "(ERB)")
    mod.module_eval("def #{name}; #{code}\nend", filename, @lineno + 1)
    name[/\A[^(\s]+/].to_sym
  end

  # The program without its first line: a text cannot be evaluated from a line 0 on.
  def code = @src[(@src.index("\n") + 1)..-1]

  def program(arguments, before = "")
    FoolsGold::TOP.instance_eval("->#{arguments} { #{before}#{code}\n}", @filename || "(erb)", @lineno + 1)
  end
  private :code, :program

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
