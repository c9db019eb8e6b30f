# The half on Roda.

require "roda"
require_relative "sums"

# GET /N below where it is mounted.
class OnRoda < Roda
  plugin :head

  def self.for_rack
    freeze.app
  end

  route do |r|
    r.get String do |n|
      response.status, text = SUMS.answer(n, r.params["cache"] == "1")
      # Rack's own name for it, which is written as the installed Rack wants it.
      response[Rack::CONTENT_TYPE] = "text/plain; charset=utf-8"
      text
    end
  end
end
