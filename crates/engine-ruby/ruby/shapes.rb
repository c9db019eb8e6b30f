# frozen_string_literal: true

# Shapes: the sets of keys that requests have. The environment of a shape is made by code generated for it, once: a Hash
# literal with all keys and constants in it, which is the fastest way to a new Hash that Ruby has.

module FoolsGold
  # The shapes of one connection.
  class Shapes
    # The keys that a shape may have: they come from header names and become code.
    KEY = /\A[A-Za-z0-9_.]+\z/.freeze

    # Rack 3 no longer has `rack.version`; other servers still set it.
    VERSION = [1, 6].freeze

    # The key of the milliseconds in which the body of a request arrived. The value is a Float, as in Puma: monitoring
    # libraries calculate with it.
    BODY_WAIT = "puma.request_body_wait"

    # Puma 8 gives applications that call this a thread beyond the limit; here it does nothing.
    IO_BOUND = -> {}

    def initialize(environment, slot)
      @environment = environment
      @slot = slot
      # Once: when a shape is made later, code of the application may have put something else there for a moment.
      @errors = $stderr
      @makers = [open_shape]
    end

    # Lambdas by the number of their shape; each takes values, input, and the two lists of blocks to run after the
    # answer.
    attr_reader :makers

    # Takes the payload of a SHAPE frame.
    def define(payload)
      number = payload.unpack1("n")
      variables = []
      constants = []
      pairs = Frames.strings(payload.byteslice(2, payload.bytesize))
      until pairs.empty?
        key = pairs.shift
        raise ProtocolError, "the key #{key.dump} of shape #{number} is not of A-Z a-z 0-9 _ ." unless KEY.match?(key)

        pairs.shift == "v" ? variables << key : constants << [key, pairs.shift]
      end
      @makers[number] = make(code(variables, constants))
    end

    private

    def code(variables, constants)
      pairs = variables.each_with_index.map do |key, index|
        # Both Strings: an application may have changed NilClass#to_s.
        "#{key.dump} => v#{index}#{key == BODY_WAIT ? '.to_f' : ''}"
      end
      pairs.concat(constants.map { |key, value| "#{key.dump} => #{value.b.dump}" })
      <<~RUBY
        # frozen_string_literal: true
        lambda do |values, input, after, finished|
          #{split(variables.size)}
          { #{pairs.join(', ')}, #{@environment.code} }
        end
      RUBY
    end

    # `Z*` takes a string to its NUL, or to the end, and is faster than `split`.
    def split(count)
      return "" if count.zero?

      names = Array.new(count) { |index| "v#{index}" }
      "#{names.join(', ')}, = values.unpack(\"#{'Z*' * count}\")"
    end

    def open_shape
      make(<<~RUBY)
        # frozen_string_literal: true
        lambda do |values, input, after, finished|
          pairs = Frames.strings(values).each_slice(2).to_h
          pairs[BODY_WAIT] &&= pairs[BODY_WAIT].to_f
          pairs.merge!({ #{@environment.code} })
        end
      RUBY
    end

    # In binary encoding, so that its strings are binary too.
    def make(code)
      errors = @errors
      slot = @slot
      binding.eval(code.b, "(environment)", 1)
    end
  end
end
