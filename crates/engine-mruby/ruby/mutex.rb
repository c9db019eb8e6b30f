# Mutex, for code that locks. One interpreter runs one thing at a time, so a lock is always free; code that uses one
# runs unchanged. It guards nothing that interpreters share: FoolsGold.store does that itself.

class Mutex
  def synchronize
    lock
    yield
  ensure
    unlock
  end

  def lock
    @locked = true
    self
  end

  def unlock
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
