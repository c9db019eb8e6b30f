# FoolsGold.store, the key-value store that all interpreters of the server share; FoolsGold.requests and
# FoolsGold.environment.

module FoolsGold
  # A key-value store that all interpreters share. Keys are Strings or Symbols (:a and "a" are one key); values are
  # nil, true, false, numbers, Strings, Symbols, Arrays and Hashes of these, copied in and out.
  class Store
    # The store has no room for a value.
    class Full < StandardError; end

    # Returns a copy of the value, or nil.
    def get(key)
      Native.store_get(key)
    end
    alias [] get

    # Sets a value, which expires after `ttl` seconds (with a fraction, if need be), and returns it. TypeError for a
    # value that cannot be copied (a Proc, an object of your own class), Full when there is no room.
    def set(key, value, ttl: nil)
      Native.store_set(key, exact(value), ttl)
      value
    end

    def []=(key, value)
      Native.store_set(key, exact(value), nil)
    end

    # Removes the key and returns its value, or nil.
    def delete(key)
      Native.store_delete(key)
    end

    # Adds to an Integer atomically and returns the sum. A missing key counts as 0; only then does `ttl` apply.
    def increment(key, by = 1, ttl: nil)
      if Numeric === by && by != by.floor
        raise TypeError, "the store adds Integers only, not a #{by.class} with a fraction"
      end
      Native.store_increment(key, by, ttl)
    end

    # Returns the value, or the block's result, which is then stored. Two interpreters may both run their block.
    def fetch(key, default = nil, ttl: nil)
      value = get(key)
      return value unless value.nil?
      # A stored nil counts as missing, since `get` returns nil for both.
      return default unless block_given?
      set(key, yield(key), ttl: ttl)
    end

    def clear
      Native.store_clear
    end

    def size
      Native.store_size
    end

    private

    # The value, unless it is a number that the store could keep only as one of another class.
    def exact(value)
      return value unless FoolsGold.number_object?(value)
      raise TypeError, "the store keeps no #{value.class}: make it a String, an Integer or a Float"
    end
  end

  STORE = Store.new

  class << self
    def store
      STORE
    end

    def requests
      REQUESTS
    end

    def environment
      Native.environment
    end
  end
end
