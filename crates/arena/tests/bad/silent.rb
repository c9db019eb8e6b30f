# Never listens.
puts "waiting for a database that does not come"
$stdout.flush
trap("TERM") { exit }
sleep
