# Fiber#raise: an exception where the fiber waits in Fiber.yield.

class Fiber
  # What `raise` resumes a fiber with in place of a value.
  class Raised
    attr_reader :args, :options

    def initialize(args, options)
      @args = args
      @options = options
    end
  end

  class << self
    alias __yield yield

    def yield(*values)
      found = __yield(*values)
      return found unless Raised === found
      ::Kernel.raise(*found.args, **found.options)
    end
  end

  def raise(*args, **options)
    return ::Kernel.raise(*args, **options) if equal?(Fiber.current)
    ::Kernel.raise FiberError, "cannot raise exception on unborn fiber" if __created?
    args = [RuntimeError, ""] if args.empty?
    resume(Raised.new(args, options))
  end
end
