# WeakRef, which holds its object as any other reference would.

require "delegate"

class WeakRef < SimpleDelegator
  class RefError < StandardError; end

  def weakref_alive? = true
end
