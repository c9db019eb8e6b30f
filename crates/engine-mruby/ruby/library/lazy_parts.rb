# Enumerator::Lazy: how a step is made; and Enumerable#lazy itself.

class Enumerator
  class Lazy
    private

    def __fill(size, shown, block)
      Enumerator.instance_method(:initialize).bind(self).call(size, &block)
      @shown = shown
    end

    # How it is called, with what was given.
    def step(name, size = nil, &block) = Lazy.__made(size, "#{inspect}:#{name}", &block)

    # An element of no values is nil to the block.
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
