# frozen_string_literal: true

# The directives of another server's configuration, in their order.

module FoolsGold
  # The directives of one configuration.
  class Directives
    # One directive; `file` differs from the configuration if that evaluates another file. `is_added` marks an option
    # that only a library knows.
    Call = Struct.new(:name, :args, :block, :file, :line, :is_added) do
      def written
        values = args.map { |one| short(one) }.join(", ")
        [name, values, ("do ... end" if block)].compact.reject(&:empty?).join(" ")
      end

      private

      def short(value)
        text = value.inspect
        text = "(#{value.class})" if text.start_with?("#<")
        text.length > 60 ? "#{text[0, 57]}..." : text
      end
    end

    class << self
      # The directives of the file that is being evaluated.
      attr_accessor :current
    end

    # Plugins of Puma with the directives that they add.
    PLUGINS = { "tmp_restart" => [], "systemd" => [], "solid_queue" => [:solid_queue_mode] }.freeze

    # The last directive that the server does not have, and the exception with which it was refused.
    Refusal = Struct.new(:call, :error)

    attr_reader :path, :calls, :refusal
    # Lists of callables by the names of hooks, to which the application can add (PumaOptions).
    attr_reader :added

    def initialize(path, workers)
      @path = path
      @workers = workers
      @calls = []
      @added = {}
    end

    def record(name, args, block)
      @calls << call(name, args, block)
      nil
    end

    # Records what code at a place, a file and a line, has changed, like a directive.
    def note(name, args, place)
      @calls << Call.new(name, args, nil, *place)
    end

    # Raises the exception that Ruby raises for an undefined method.
    def refuse(name, args, block)
      error = NoMethodError.new("undefined method `#{name}'", name, args)
      error.set_backtrace(caller(2))
      @refusal = Refusal.new(call(name, args, block), error)
      raise error
    end

    # Whether a directive may come from a plugin: only some plugins are known.
    def may_be_of_plugin?(name)
      plugins = @calls.select { |call| call.name == "plugin" }
      plugins.any? { |call| PLUGINS.fetch(call.args.first.to_s, [name]).include?(name) }
    end

    # The arguments of the last directive of this name.
    def args(name)
      @calls.reverse_each.find { |call| call.name == name }&.args
    end

    # The first argument of each directive, by its name.
    def values
      @calls.to_h { |call| [call.name.to_sym, call.args.first] }
    end

    # The directives with a block, or with one as an argument: name, key and block of each.
    def hooks
      @calls.filter_map do |call|
        block = call.block || call.args.first
        [call.name.to_sym, (call.args.first if call.block), block] if block.respond_to?(:call)
      end
    end

    def workers
      return @workers if @workers

      said = args("workers")
      said ? said.first || 0 : ENV["WEB_CONCURRENCY"]
    end

    # The mode of Puma, as far as this file and the command line say.
    def mode
      ["", "0"].include?(workers.to_s.b.strip) ? "single" : "cluster"
    end

    def blocks_of(mode)
      @calls.select { |call| call.name == mode && call.block }.map(&:block)
    end

    private

    def call(name, args, block)
      place = caller_locations.find { |frame| frame.path != __FILE__ && !frame.path.start_with?("<internal:", "-") }
      Call.new(name.to_s, args, block, place&.path, place&.lineno)
    end
  end
end
