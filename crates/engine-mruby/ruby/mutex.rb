# Mutex, for code that locks. One interpreter runs one thing at a time, so a lock is always free; code that uses one
# runs unchanged. It guards nothing that interpreters share: FoolsGold.store does that itself.

class Mutex
  def synchronize
    lock
    begin
      yield
    ensure
      @locked = false
    end
  end

  # Held already, it is held by this very thread.
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

  def owned?
    locked?
  end
end
