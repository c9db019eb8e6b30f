# PP: what `inspect` shows, in lines where it is too long for one.

class PP
  def self.pp(object, out = $stdout, width = 79)
    out << format(object, width) << "\n"
    out
  end

  def self.singleline_pp(object, out = $stdout)
    out << object.inspect
    out
  end

  def self.format(object, width = 79, indent = 0)
    line = object.inspect
    return line if line.size + indent <= width
    case object
    when Hash then wrap("{", object.map { |key, value| pair(key, value, width, indent + 1) }, "}", indent)
    when Array then wrap("[", object.map { |one| format(one, width, indent + 1) }, "]", indent)
    when Struct
      fields = object.members.map { |name| "#{name}=#{deeper(object[name], width, indent, name.size + 2)}" }
      "#<struct #{object.class}\n#{fields.map { |field| " #{' ' * indent}#{field}" }.join(",\n")}>"
    else
      names = object.instance_variables
      return line unless line.start_with?("#<#{object.class}") && !names.empty?
      head = line[/\A#<[^ >]+/]
      fields = names.map do |name|
        "#{name}=#{deeper(object.instance_variable_get(name), width, indent, name.size + 2)}"
      end
      "#{head}\n#{fields.map { |field| " #{' ' * indent}#{field}" }.join(",\n")}>"
    end
  end

  class << self
    private

    def wrap(left, parts, right, indent) = "#{left}#{parts.join(",\n#{' ' * (indent + 1)}")}#{right}"
    def deeper(value, width, indent, more) = format(value, width, indent + more)

    def pair(key, value, width, indent)
      key = "#{key.inspect}=>"
      line = format(value, width, indent + key.size)
      return "#{key}#{line}" unless line.include?("\n")
      "#{key}\n #{' ' * indent}#{format(value, width, indent + 1)}"
    end
  end

  module ObjectMixin
    def pretty_print(printer) = printer.text(inspect)
  end
end

module Kernel
  def pretty_inspect = "#{PP.format(self)}\n"

  def pp(*things)
    things.each { |thing| PP.pp(thing) }
    things.size < 2 ? things.first : things
  end
  module_function :pp
end
