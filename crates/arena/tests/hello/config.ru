# The least application: it runs on every server and on the embedded interpreter.
run ->(_env) { [200, { "content-type" => "text/plain", "content-length" => "6" }, ["hello\n"]] }
