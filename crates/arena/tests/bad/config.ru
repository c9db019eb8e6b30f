# What the bad servers would serve, if they did.
run ->(_env) { [200, { "content-type" => "text/plain" }, ["hello\n"]] }
