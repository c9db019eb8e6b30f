# Monitor and MonitorMixin: locks that one thread may take several times. An interpreter has one thread, so that they
# are always free.

class Monitor
  def initialize
    @count = 0
  end

  def enter
    @count += 1
    nil
  end
  alias mon_enter enter

  def exit
    mon_check_owner
    @count -= 1
    nil
  end
  alias mon_exit exit

  def try_enter
    enter
    true
  end
  alias mon_try_enter try_enter
  alias try_mon_enter try_enter

  def synchronize
    enter
    begin
      yield
    ensure
      @count -= 1
    end
  end
  alias mon_synchronize synchronize

  def mon_locked? = @count > 0
  def mon_owned? = @count > 0
  def new_cond = MonitorMixin::ConditionVariable.new(self)

  def mon_check_owner
    raise ThreadError, "current thread not owner" if @count == 0
  end
end

module MonitorMixin
  # The condition variable of a Monitor. No other thread can signal it: `wait` ends by its timeout, and raises without
  # one.
  class ConditionVariable
    def initialize(monitor)
      @monitor = monitor
      @condition = Thread::ConditionVariable.new
    end

    def wait(timeout = nil)
      @monitor.mon_check_owner
      @condition.wait(@monitor, timeout)
      false
    end

    def wait_while
      wait while yield
    end

    def wait_until
      wait until yield
    end

    %i[signal broadcast].each do |name|
      define_method(name) do
        @monitor.mon_check_owner
        @condition.__send__(name)
      end
    end
  end

  def self.extend_object(object)
    super
    object.__send__(:mon_initialize)
  end

  def mon_enter = mon_data.enter
  def mon_exit = mon_data.exit
  def mon_try_enter = mon_data.try_enter
  def mon_locked? = mon_data.mon_locked?
  def mon_owned? = mon_data.mon_owned?
  def new_cond = mon_data.new_cond

  def mon_synchronize(&block)
    mon_data.synchronize(&block)
  end
  alias synchronize mon_synchronize

  private

  def mon_initialize
    @mon_data = Monitor.new
  end

  # Also for an object whose class forgets to call `super` in its `initialize`.
  def mon_data
    @mon_data ||= Monitor.new
  end
end
