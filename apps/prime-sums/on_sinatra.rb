# The half on Sinatra.

require "sinatra/base"
require_relative "sums"

# GET /N below where it is mounted.
class OnSinatra < Sinatra::Base
  def self.for_rack
    self
  end

  get "/:n" do
    content_type "text/plain", charset: "utf-8"
    status, text = SUMS.answer(params["n"], params["cache"] == "1")
    [status, text]
  end
end
