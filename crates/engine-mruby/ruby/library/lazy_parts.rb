# Helpers of Enumerator::Lazy, and Enumerable#lazy itself.

class Enumerator
  class Lazy
    private

    def __fill(size, shown, block)
      Enumerator.instance_method(:initialize).bind(self).call(size, &block)
      @shown = shown
    end

    # A new step. Its name, with arguments, is shown by `inspect`.
    def step(name, size = nil, &block) = Lazy.__made(size, "#{inspect}:#{name}", &block)

    # The block's arguments for an element: nil for one without values.
    def lazily(one) = one.empty? ? [nil] : one

    def demand(block, name)
      raise ArgumentError, "tried to call lazy #{name} without a block" unless block
    end

    def chosen(name)
      step(name) { |out| each { |*one| out << one.__svalue if yield(one.__svalue) } }
    end

    def grepped(name, wanted, pattern, block)
      step("#{name}(#{pattern.inspect})") do |out|
        each do |*one|
          one = one.__svalue
          next unless (pattern === one) == wanted
          FoolsGold.last_match = $~ if block && wanted && pattern.is_a?(Regexp)
          out << (block ? block.call(one) : one)
        end
      end
    end
  end
end

module Enumerable
  def lazy
    source = self
    count = -> { source.size if source.respond_to?(:size) }
    Enumerator::Lazy.__made(count, inspect) { |out, *args| source.each(*args) { |*one| out.yield(*one) } }
  end
end
