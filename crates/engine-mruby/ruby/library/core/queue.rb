# Queue, SizedQueue and ConditionVariable for a program with one thread. A call that would wait for another thread
# raises a ThreadError.

class ClosedQueueError < StopIteration; end

class Thread
  class Queue
    attr_reader :num_waiting

    def initialize(items = [])
      @items = items.to_a.dup
      @closed = false
      @num_waiting = 0
    end

    def push(item)
      raise ClosedQueueError, "queue closed" if @closed
      @items.push(item)
      self
    end
    alias << push
    alias enq push

    # With a timeout, sleeps and returns nil; without one, raises instead of waiting for ever.
    def pop(non_block = false, timeout: nil)
      one_of(non_block, timeout)
      return @items.shift unless @items.empty?
      return nil if @closed
      raise ThreadError, "queue empty" if non_block
      raise ThreadError, "the queue is empty and nobody can fill it: #{ONE}" unless timeout
      sleep(timeout) if timeout > 0
      nil
    end
    alias shift pop
    alias deq pop

    def close
      @closed = true
      self
    end

    def closed? = @closed
    def empty? = @items.empty?
    def size = @items.size
    alias length size

    def clear
      @items.clear
      self
    end

    private

    def one_of(non_block, timeout)
      raise ArgumentError, "can't set a timeout if non_block is enabled" if non_block && timeout
    end
  end

  class SizedQueue < Queue
    attr_accessor :max

    def initialize(max)
      super()
      @max = max
    end

    # Where the queue is full: with a timeout, sleeps and returns nil; without one, raises instead of waiting for ever.
    def push(item, non_block = false, timeout: nil)
      one_of(non_block, timeout)
      return super(item) if size < max
      raise ThreadError, "queue full" if non_block
      raise ClosedQueueError, "queue closed" if closed?
      raise ThreadError, "the queue is full and nobody can empty it: #{ONE}" unless timeout
      sleep(timeout) if timeout > 0
      nil
    end
    alias << push
    alias enq push
  end

  class ConditionVariable
    def signal = self
    def broadcast = self

    def wait(_mutex, timeout = nil)
      raise ThreadError, "nobody can signal this ConditionVariable: #{ONE}" unless timeout
      sleep(timeout)
      self
    end
  end
end

Queue = Thread::Queue
SizedQueue = Thread::SizedQueue
ConditionVariable = Thread::ConditionVariable
