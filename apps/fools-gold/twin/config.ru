# The same page on any other Rack server, in pure Ruby: for example  puma apps/fools-gold/twin/config.ru
# Same bytes as ../config.ru apart from id and count. A counter here belongs to its process: two workers count twice.

require "securerandom"
require_relative "../page"

lock = Mutex.new
count = 0

page = FoolsGoldPage.new(lambda { |_env|
  [SecureRandom.uuid, lock.synchronize { count += 1 }]
})

# In one piece and with its length: most servers write each part of a body by itself, and some close the connection
# where they do not know the length; neither would be fair to them.
run lambda { |env|
  status, headers, body = page.call(env)
  whole = body.join
  headers["content-length"] = whole.bytesize.to_s
  [status, headers, [whole]]
}
