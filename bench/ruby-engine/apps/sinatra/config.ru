# A Sinatra route with a short text, in production mode.

require "sinatra/base"

# The application.
class Hello < Sinatra::Base
  set :environment, :production
  set :logging, false

  get "/hello" do
    content_type "text/plain"
    "Hello from Sinatra\n"
  end
end

run Hello
