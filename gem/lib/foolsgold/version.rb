# frozen_string_literal: true

# The version of the gem, which is the program's.

module FoolsGold
  VERSION = "0.2.0"
end
