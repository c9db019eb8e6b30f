# Commands that are sent together: each call returns a Future, which has its value afterwards.

class Redis
  class FutureNotReady < RuntimeError
    def initialize
      super("Value will be available once the pipeline executes.")
    end
  end

  class Future
    def initialize(convert)
      @convert = convert
      @state = :waiting
    end

    # An error reply stays a Symbol, without conversion; `value` raises it.
    def take(reply)
      @state = :there
      @value = reply.is_a?(Symbol) || @convert.nil? ? reply : @convert.call(reply)
    end

    def value
      raise FutureNotReady.new if @state == :waiting
      Redis.checked(@value)
    end

    def is_a?(type) = type == Future || super
  end

  class Pipeline
    include Commands
    include Collections

    attr_reader :commands

    def initialize
      @commands = []
      @futures = []
    end

    def call(*command) = send_command(command)

    def send_command(command, _wait = nil, &convert)
      @commands << Redis.plain(command)
      @futures << Future.new(convert)
      @futures.last
    end

    # Gives each Future its reply. With `exception` the first error reply is raised, else errors are returned as values,
    # as in the gem.
    def settle(replies, exception)
      values = @futures.each_with_index.map { |future, at| future.take(replies[at]) }
      refused = values.find { |value| value.is_a?(Symbol) }
      Redis.checked(refused) if refused && exception
      values.map { |value| value.is_a?(Symbol) ? CommandError.new(value.to_s) : value }
    end
  end
  PipelinedConnection = Pipeline
  MultiConnection = Pipeline
end
