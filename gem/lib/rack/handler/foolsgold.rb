# frozen_string_literal: true

# For Rack 2: `rackup -s foolsgold`, `rails server -u foolsgold`.

require "rack/handler"
require_relative "../../foolsgold/handler"

module Rack
  module Handler
    # Its name is what Rails and Sinatra tell the user.
    module FoolsGold
      extend ::FoolsGold::Handler
    end

    register "foolsgold", "Rack::Handler::FoolsGold"
  end
end
