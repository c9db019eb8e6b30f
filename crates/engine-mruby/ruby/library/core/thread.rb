# Thread (Queue and so on are in queue.rb). An interpreter has one thread: a call that needs a second one raises a
# ThreadError, all others work as in a program with one thread.

class ThreadError < StandardError; end

class Thread
  Mutex = ::Mutex

  class Backtrace
    Location = FoolsGold::Location
  end

  ONE = "there is one thread in each interpreter: -t says how many requests run at once"

  class << self
    attr_accessor :abort_on_exception, :report_on_exception

    def current = @current ||= allocate.__send__(:prepare)
    alias main current

    def new(*)
      raise ThreadError, "can't create Thread: #{ONE}. #{FoolsGold::HINT}"
    end
    alias start new
    alias fork new

    def list = [current]
    def pass = nil
    def handle_interrupt(*) = yield
    def pending_interrupt? = false
    def exclusive = yield

    # Gives the block each place of the caller's backtrace.
    def each_caller_location(&block)
      raise LocalJumpError, "no block given" unless block
      caller_locations(2).each(&block)
      nil
    end
  end

  attr_accessor :name, :priority, :abort_on_exception, :report_on_exception

  def [](key) = locals[key.to_sym]
  def []=(key, value)
    locals[key.to_sym] = value
  end

  def key?(key) = locals.key?(key.to_sym)
  def keys = locals.keys
  def fetch(key, *rest, &block) = locals.fetch(key.to_sym, *rest, &block)
  def thread_variable_get(key) = @variables[key.to_sym]
  def thread_variable_set(key, value) = @variables[key.to_sym] = value
  def thread_variable?(key) = @variables.key?(key.to_sym)
  def thread_variables = @variables.keys
  def alive? = true
  def status = "run"
  def stop? = false
  def group = nil
  def native_thread_id = 0
  def backtrace(*) = caller
  def wakeup = self
  alias run wakeup

  def join(*)
    raise ThreadError, "Target thread must not be current thread: #{ONE}"
  end
  alias value join

  def raise(*args) = Kernel.raise(*args)

  private

  # Each Fiber has its own.
  def locals
    fiber = Fiber.current
    fiber.instance_variable_get(:@__locals) || fiber.instance_variable_set(:@__locals, {})
  end

  def prepare
    @variables = {}
    @name = "main"
    @priority = 0
    self
  end
end

class ThreadGroup
  Default = new
end

%i[Queue SizedQueue ConditionVariable].each { |name| FoolsGold.wait_for(Thread, name, "foolsgold/queue") }
