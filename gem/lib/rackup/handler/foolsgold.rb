# frozen_string_literal: true

# For Rack 3: `rackup -s foolsgold`, `rails server -u foolsgold`.

require "rackup/handler"
require_relative "../../foolsgold/handler"

module Rackup
  module Handler
    # Its name is what Rails and Sinatra tell the user.
    module FoolsGold
      extend ::FoolsGold::Handler
    end

    register :foolsgold, FoolsGold
  end
end
