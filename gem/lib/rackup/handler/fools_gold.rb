# frozen_string_literal: true

# Where rackup looks for a handler called FoolsGold.

require_relative "foolsgold"
