# Kernel's methods for printing, formatting, sleeping and exiting. Those for other processes raise a
# NotImplementedError.

module Kernel
  # `**nil` outside of parameters is parsed as a call of this method (mruby/patches, keywords).
  define_method(:nil) { nil }
  private :nil

  def format(form, *values) = FoolsGold.format(form, values)
  alias sprintf format

  def puts(*things)
    $stdout.puts(*things)
  end

  def print(*things)
    $stdout.print(*things)
  end

  def p(*things)
    things.each { |thing| $stdout.puts(thing.inspect) }
    things.size < 2 ? things.first : things
  end
  alias pp p

  def printf(form = nil, *values)
    return if form.nil?
    text = form.is_a?(String) || form.respond_to?(:to_str)
    text ? $stdout.write(format(form, *values)) : form.write(format(*values))
    nil
  end

  def __ENCODING__ = Encoding::UTF_8

  def warn(*things, uplevel: nil, category: nil)
    return if $VERBOSE.nil? || things.empty?
    category = FoolsGold.string(category).to_sym unless category.nil? || Symbol === category
    unless uplevel.nil?
      uplevel = FoolsGold.integer(uplevel)
      raise ArgumentError, "negative level (#{uplevel})" if uplevel < 0
      place = caller(uplevel + 1, 1)&.first
      things[0] = "#{place && "#{place[/\A.*?:\d+/]}: "}warning: #{things[0]}"
    end
    text = things.flatten.map { |thing| (line = thing.to_s).end_with?("\n") ? line : "#{line}\n" }.join
    return if text.empty?
    category ? Warning.warn(text, category: category) : Warning.warn(text)
    nil
  end

  def sleep(seconds = nil)
    FoolsGold::Native.sleep(seconds)
  end

  def exit(status = 0)
    status = 0 if status == true
    status = 1 if status == false
    raise SystemExit.new(status, "exit")
  end
  alias exit! exit

  def abort(message = "abort")
    raise SystemExit.new(1, message)
  end

  # Never calls the block: the process belongs to the server.
  def at_exit(&block)
    raise ArgumentError, "called without a block" unless block
    block
  end

  def gets(*)
    nil
  end

  def open(path, *args, **options, &block)
    raise NotImplementedError, "open(\"|\"): #{FoolsGold::HINT}" if path.is_a?(String) && path.start_with?("|")
    File.open(path, *args, **options, &block)
  end

  FoolsGold.refuse(self, %i[fork system exec spawn trap select syscall test `])
end

module FoolsGold
  class << self
    # Kernel#format. Rust formats plain values; of others it gets the result of `to_s`, and where the format has a `p`
    # that of `inspect` of each.
    def format(form, values)
      form = string(form)
      # Names are taken from a single Hash.
      if values.size == 1 && Hash === values[0] && (form.include?("<") || form.include?("{"))
        return named_format(form, values[0])
      end
      inspected = form.include?("p") ? values.map(&:inspect) : nil
      values = numbered(form, values) unless values.all? { |value| plain?(value) }
      Native.format(form, values.map { |value| plain(value) }, inspected)
    end

    private

    def named_format(form, named)
      inspected = form.include?("p") ? named.values.map(&:inspect) : nil
      own_form, values = named.values.all? { |value| plain?(value) } ? [form, named] : directed(form, named)
      Native.format(own_form, [values.transform_values { |value| plain(value) }], inspected)
    rescue KeyError
      # The Hash may have a default for the missing names, which Rust cannot ask; else a KeyError with receiver and key.
      given = named.to_h
      form.gsub("%%", "").scan(/%[-+ 0#\d.*$]*(<[^>]*>|\{[^}]*\})/) do |(name)|
        key = name[1..-2].to_sym
        next if given.key?(key)
        value = named[key]
        raise KeyError.new("key#{name} not found", receiver: named, key: key) if value.nil?
        given = given.merge(key => value)
      end
      named_format(form, given)
    end

    def plain(value) = plain?(value) ? value : value.to_s

    def plain?(value)
      case value
      when String, Integer, Float, Symbol, nil, true, false then true
      else false
      end
    end

    # The form and the Hash of its values, for values that are not all plain. Each directive of a number whose value is
    # not plain gets a name of its own, and under that name the value, converted as the directive asks.
    def directed(form, named)
      values = {}.merge(named)
      form = form.gsub(/%(?:%|([-+ 0#\d.]*)<([^>]*)>([-+ 0#\d.]*)([A-Za-z]))/) do |directive|
        before, name, after, kind = $1, $2, $3, $4
        key = name && name.to_sym
        next directive if name.nil? || kind == "s" || kind == "p" || !named.key?(key) || plain?(named[key])
        own = "#{name} #{values.size}"
        values[own.to_sym] = converted(named[key], kind, before + after)
        "%#{before}<#{own}>#{after}#{kind}"
      end
      [form, values]
    end

    # The values, converted as their directives ask: mirrors how the directives take values in turn or by number.
    def numbered(form, values)
      return values if form.include?("<") || form.include?("{")
      values, turn = values.dup, -1
      form.scan(/%(?:%|([-+ 0#\d.*$]*)([A-Za-z]))/) do |flags, kind|
        next unless kind
        # The flags, with the value of each asterisk in its place.
        given = flags.gsub(/\*(?:\d+\$)?/) do |star|
          at = star.size > 1 ? star[1..-1].to_i - 1 : turn += 1
          wanted(values, at, "*")
          Numeric === values[at] ? values[at].to_i.to_s : ""
        end
        place = flags[/(?:\A|[-+ 0#])(\d+)\$/, 1]
        wanted(values, place ? place.to_i - 1 : turn += 1, kind, given)
      end
      values
    end

    def wanted(values, at, kind, flags = "")
      values[at] = converted(values[at], kind, flags) unless at >= values.size || plain?(values[at])
    end

    def converted(value, kind, flags)
      case kind
      when "*" then integer(value)
      when "d", "i", "u", "x", "X", "o", "b", "B" then Integer(value)
      when "f" then fixed(value, flags)
      when "e", "E", "g", "G", "a", "A" then Float(value)
      when "c" then asked(value, :to_str, String) || asked(value, :to_int, Integer) || integer(value)
      else value
      end
    end

    # The value for `%f`. A Rational is rounded exactly, halves away from zero, and not as the Float nearest to it,
    # except for more than 40 places; a negative one that becomes zero keeps its sign. Its class is compared by name,
    # since the constant Rational would load the library.
    def fixed(value, flags)
      return Float(value) unless number_object?(value) && value.class.name == "Rational"
      places = (flags[/\.(-?\d*)/, 1] || 6).to_i
      places = 6 if places < 0
      return Float(value) if places > 40
      size = value.abs.round(places).to_f
      value < 0 ? -size : size
    end

    # The result of a conversion method; nil where the object, perhaps a BasicObject, does not have it.
    def asked(object, name, kind)
      found = object.__send__(name) if Kernel === object ? object.respond_to?(name, true) : true
      return found if found.nil? || kind === found
      raise TypeError, "can't convert it to #{kind} (#{name} gives #{found.class})"
    rescue NoMethodError
      raise if Kernel === object
    end
  end
end
