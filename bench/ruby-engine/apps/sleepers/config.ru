# Each request waits 5 ms as if for a database, and needs no processor meanwhile.

run lambda { |_env|
  sleep 0.005
  [200, { "content-type" => "text/plain" }, ["slept 5 ms\n"]]
}
