# The smallest application: the rest is the server's own work.

run ->(_env) { [200, { "content-type" => "text/plain" }, ["Hello, world\n"]] }
