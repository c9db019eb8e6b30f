# What ipaddr.rb of Ruby's own library names of sockets. There are none here: nobody else can require this (require.rb).

class BasicSocket < IO; end
class IPSocket < BasicSocket; end

class Socket < BasicSocket
  AF_UNSPEC = 0
  AF_INET = 2
  AF_INET6 = 10
end
