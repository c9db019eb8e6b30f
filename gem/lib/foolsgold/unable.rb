# frozen_string_literal: true

# Why the server cannot be started from here.

module FoolsGold
  # The message says what to do.
  class Unable < StandardError; end
end
