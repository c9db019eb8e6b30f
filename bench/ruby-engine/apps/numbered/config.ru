# Returns the number in the request, so that a response to the wrong request is noticed. A little work keeps requests in
# the workers when those are killed. A POST returns its own body.

run lambda { |env|
  done = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :float_millisecond) + 0.2
  nil while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :float_millisecond) < done
  number = env["REQUEST_METHOD"] == "POST" ? env["rack.input"].read : env["PATH_INFO"].delete_prefix("/")
  [200, { "content-type" => "text/plain" }, ["number #{number}\n"]]
}
