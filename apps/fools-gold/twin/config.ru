# The same page on any other Rack server, in pure Ruby: for example  puma apps/fools-gold/twin/config.ru
# Same bytes as ../config.ru apart from id and count. A counter here belongs to its process: two workers count twice.

require "securerandom"
require_relative "../page"

lock = Mutex.new
count = 0

run FoolsGoldPage.new(lambda { |_env|
  [SecureRandom.uuid, lock.synchronize { count += 1 }]
})
