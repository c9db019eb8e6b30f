# GET /cpu/N works for N ms of processor time. Time of this thread is counted, not time on the wall: the work stays the
# same when threads or processes share a processor.

work = lambda { |milliseconds|
  done = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :float_millisecond) + milliseconds
  sum = 0
  # The clock is read about every ten microseconds.
  while Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID, :float_millisecond) < done
    200.times { |number| sum += number }
  end
}

run lambda { |env|
  milliseconds = Integer(env["PATH_INFO"].delete_prefix("/cpu/"), 10)
  work.call(milliseconds)
  [200, { "content-type" => "text/plain" }, ["worked #{milliseconds} ms\n"]]
}
