# Enumerator#size for Enumerators that methods of core classes return.

module FoolsGold
  module Sizes
    UNKNOWN = %i[find detect find_index index rindex take_while drop_while chunk_while slice_when chunk slice_before
                 slice_after bsearch each_line grep each_grapheme_cluster tap then yield_self]
              .map { |name| [name, true] }.to_h.freeze
    OWN = [Array, Hash, Range, Integer, Float, String, Struct, Enumerable, Kernel, Enumerator, Comparable].freeze

    class << self
      # The number of elements, or nil where it is not known. A method of an application's class that calls `to_enum`
      # without a size has none, whatever its name.
      def of(object, method, args)
        return if UNKNOWN[method] || !own?(owner(object, method))
        case method
        when :loop then Float::INFINITY
        when :times then object > 0 ? object : 0
        when :upto then [args[0].floor - object + 1, 0].max
        when :downto then [object - args[0].ceil + 1, 0].max
        when :step then steps(object, *args)
        when :each_char, :each_codepoint then object.size
        when :each_byte then object.bytesize
        when :combination, :permutation then chosen(object.size, method, args[0] || object.size)
        else sized(object.respond_to?(:size) ? object.size : nil, method, args)
        end
      end

      private

      # Compared by name, since the constant Set would load the library.
      def own?(owner) = OWN.include?(owner) || owner.to_s == "Set"

      def owner(object, method)
        object.method(method).owner
      rescue NameError
        nil
      end

      def sized(count, method, args)
        return count if count.nil?
        case method
        when :each_slice then count == Float::INFINITY ? count : (count + args[0] - 1).div(args[0])
        when :each_cons then [count - args[0] + 1, 0].max
        when :cycle then count == 0 ? 0 : (args[0] ? count * [args[0], 0].max : Float::INFINITY)
        else count
        end
      end

      def chosen(count, method, some)
        return 0 if some < 0 || some > count
        all = (count - some + 1..count).inject(1, :*)
        method == :permutation ? all : all / (1..some).inject(1, :*)
      end

      def steps(object, first = nil, second = nil)
        start, limit, by = object, first, second || 1
        start, limit, by = object.begin, object.end, first if object.is_a?(Range)
        return Float::INFINITY if limit.nil?
        return unless limit.is_a?(Numeric)
        count = FoolsGold.steps(start, limit, by)
        count -= 1 if object.is_a?(Range) && object.exclude_end? && start + (count - 1) * by == limit
        [count, 0].max
      end
    end
  end
end
