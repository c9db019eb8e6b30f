# frozen_string_literal: true

# The version of the gem, which is the program's.

module FoolsGold
  VERSION = "0.1.0"
end
