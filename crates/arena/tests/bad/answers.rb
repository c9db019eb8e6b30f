# Answers on the given port with a single process, whatever number of workers is requested.
# `stubborn`: ignores the stop signal. `mother`: leaves a process behind that has left its session.
# `litters`: leaves a file in its temporary folder, whose path it prints, and one in /tmp, named as facil.io does.
require "socket"
require "tmpdir"

port, manner = ARGV
trap("TERM") { exit } unless manner == "stubborn"
trap("TERM", "IGNORE") if manner == "stubborn"
if manner == "mother"
  fork do
    Process.setsid
    fork { sleep }
    exit!
  end
end
if manner == "litters"
  # Open until its end, as facil.io has it.
  _body = File.open("/tmp/facil_io_tmpfile_#{port}", "w")
  File.write(File.join(Dir.tmpdir, "upload"), "a body")
  puts "temporary: #{Dir.tmpdir}"
  $stdout.flush
end
server = TCPServer.new("127.0.0.1", port.to_i)
loop do
  client = server.accept
  nil until [nil, "\r\n"].include?(client.gets)
  client.write("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n")
  client.close
end
