# Mutex, so that code with locks runs unchanged. An interpreter has one thread, so that a lock is free unless this
# thread holds it. It protects nothing that interpreters share: FoolsGold.store does that itself.

class Mutex
  def synchronize
    lock
    begin
      yield
    ensure
      @locked = false
    end
  end

  # A lock that is held is held by this very thread, which would wait for itself.
  def lock
    raise ThreadError, "deadlock; recursive locking" if @locked
    @locked = true
    self
  end

  def unlock
    raise ThreadError, "Attempt to unlock a mutex which is not locked" unless @locked
    @locked = false
    self
  end

  def try_lock
    @locked ? false : (@locked = true)
  end

  def locked?
    @locked ? true : false
  end
  alias owned? locked?
end
