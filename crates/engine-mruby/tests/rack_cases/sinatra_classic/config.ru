# Sinatra in its classic form, in a rackup file.

require "sinatra"

set :environment, :production
set :logging, false

helpers { def shout(text) = text.upcase }
configure { set :greeting, "hello" }
before { @seen = request.path_info }

get("/") { "#{settings.greeting} #{@seen}" }
get("/hi/:name") { shout(params["name"]) }
post("/") { "posted #{params['a']}" }
get("/template") { erb :inline_one, locals: { n: 1 } }
template(:inline_one) { "n is <%= n %>" }
not_found { "classic nothing" }
error(ArgumentError) { "classic error" }
get("/raise") { raise ArgumentError, "x" }
set :show_exceptions, false

run Sinatra::Application
