# The least an application can do: what is left is the server's own work.

run ->(_env) { [200, { "content-type" => "text/plain" }, ["Hello, world\n"]] }
