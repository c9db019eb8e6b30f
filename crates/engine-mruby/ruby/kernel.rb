# Kernel's own methods for printing, sleeping and ending; those for other processes raise and say so.

module Kernel
  # What `nil` is behind `**` outside of parameters (mruby/patch_arguments.rb).
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

  def warn(*things, **)
    $stderr.puts(*things)
  end

  def sleep(seconds = nil)
    FoolsGold::Native.sleep(seconds)
  end

  def exit(status = 0)
    status = 0 if status == true
    status = 1 if status == false
    raise SystemExit.new(status)
  end
  alias exit! exit

  def abort(message = "abort")
    raise SystemExit.new(1, message)
  end

  # No process of the application's ends here: the block is given back, and never called.
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

  %i[fork system exec spawn trap select syscall test `].each do |name|
    define_method(name) do |*|
      raise NotImplementedError, "#{name}: #{FoolsGold::HINT}"
    end
  end
end

module FoolsGold
  class << self
    # Kernel#format. Rust knows plain values; of others it is given what `to_s` says, and where it may ask what
    # `inspect` says of each.
    def format(form, values)
      form = string(form)
      named = values[0] if values.size == 1 && values[0].is_a?(Hash) && (form.include?("<") || form.include?("{"))
      inspected = form.include?("p") ? (named ? named.values : values).map(&:inspect) : nil
      return Native.format(form, [named.transform_values { |value| plain(value) }], inspected) if named
      values = numbered(form, values) unless values.all? { |value| plain?(value) }
      Native.format(form, values.map { |value| plain(value) }, inspected)
    end

    private

    def plain(value) = plain?(value) ? value : value.to_s

    def plain?(value)
      case value
      when String, Integer, Float, Symbol, nil, true, false then true
      else false
      end
    end

    # The values with numbers for objects where a directive wants one; as they are where directives name their places.
    def numbered(form, values)
      kinds = form.gsub("%%", "").scan(/%([-+ 0#\d.]*)([A-Za-z*<{$])/)
      return values if kinds.any? { |_, kind| "*<{$".include?(kind) }
      values.each_with_index.map do |value, at|
        kind = kinds[at]&.last || "s"
        next value if plain?(value)
        next Integer(value) if "diuxXobB".include?(kind)
        "feEgGaA".include?(kind) ? Float(value) : value
      end
    end
  end
end
