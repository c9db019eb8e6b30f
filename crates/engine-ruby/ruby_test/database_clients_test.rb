# frozen_string_literal: true

# Connections that the mold closes before a fork, because the libraries of their clients open new ones.

# Applications with stand-ins for these libraries, on real connections.
module ClientsTest
  H = Harness

  def self.answering(name, body, rackup)
    H.check(name) { Front.with_listener(rackup) { |front| H.same(body, front.fork.get("/").body) } }
  end

  # An application that is not forked, because of a client.
  def self.refusing(name, rackup, words = /held by RedisClient/)
    H.check(name) do
      Front.with_listener("#{rackup}run ->(_) { [200, {}, []] }\n") do |front|
        H.match(words, front.refused.join)
      end
    end
  end
end

LAZY = <<~'RUBY'
  base = File.join(__dir__, "base.rb")
  File.write(base, "$loaded = true\nclass ActiveRecord::Base; end\n")
  module ActiveRecord; end
  ActiveRecord.autoload(:Base, base)
  run ->(_) { [200, {}, [$loaded.inspect]] }
RUBY
ClientsTest.answering("ActiveRecord is not loaded for a fork if the application has not used it", "nil", LAZY)
# ActiveRecord 6.1 and 7.0 with roles in one handler, and in one for each (6.0, and legacy_connection_handling).
ROLES = <<~'RUBY'
  $closed = []
  module ActiveRecord
    Pool = Struct.new(:name) do
      def release_connection; end
      def connections; []; end
      def disconnect!; $closed << name; end
    end
    Handler = Struct.new(:pools) do
      def clear_all_connections!(_role = :writing); pools.first.disconnect!; end
    end
    class Base; end
    def self.version; Gem::Version.new("7.0.8"); end
  end
  def handler(*names); ActiveRecord::Handler.new(names.map { |name| ActiveRecord::Pool.new(name) }); end
  run ->(_) { [200, {}, [$closed.inspect]] }
RUBY
ONE = <<~'RUBY'
  ONE = handler(:writing, :reading)
  def ONE.all_connection_pools; pools; end
  def (ActiveRecord::Base).connection_handler; ONE; end
  def (ActiveRecord::Base).connection_handlers; raise(NotImplementedError); end
RUBY
EACH = <<~'RUBY'
  EACH = { writing: handler(:writing), reading: handler(:reading) }
  def (ActiveRecord::Base).connection_handler; EACH[:writing]; end
  def (ActiveRecord::Base).connection_handlers; EACH; end
RUBY
# A client: `closing` defines the method by which its library closes a connection.
CLIENT = <<~'RUBY'
  class Client
    def self.closing(name); define_method(name) { @socket.close }; end
    def initialize; @socket = TCPSocket.new("127.0.0.1", PORT); end
    def open?; !@socket.closed?; end
  end
RUBY
# The last two databases of Sequel are in memory, and empty after `disconnect`.
ALL = <<~'RUBY'
  class RedisClient < Client; VERSION = "0.26.0"; closing :close; end
  module Redis; VERSION = "4.8.1"; class Client < ::Client; closing :disconnect; end; end
  module Dalli; VERSION = "3.2.8"; class Client < ::Client; closing :close; end; end
  class Database < Client
    attr_reader :database_type, :opts
    def initialize(type, name); super(); @database_type = type; @opts = { database: name }; end
    closing :disconnect
  end
  Memory = Struct.new(:database_type, :opts) { def disconnect; $is_empty = true; end }
  module Sequel
    DATABASES = [Database.new(:postgres, "shop"), Database.new(:sqlite, __FILE__),
                 Memory.new(:sqlite, {}), Memory.new(:sqlite, { database: ":memory:" })]
  end
  CLIENTS = [RedisClient, Redis::Client, Dalli::Client].map(&:new) + Sequel::DATABASES.first(2)
  run ->(_) { [200, {}, [[CLIENTS.map(&:open?), $is_empty].inspect]] }
RUBY
# ActiveRecord with connections that a thread uses: of a driver with a method for the descriptor, and of SQLite.
USED = <<~'RUBY'
  module SQLite3; class Database; end; end
  Connection = Struct.new(:owner, :raw) { def initialize(*); super; @raw_connection = raw; end }
  Pool = Struct.new(:socket, :raw, :checkout_timeout, :calls) do
    def connections; [Connection.new(USER, raw)]; end
    def release_connection; end
    def flush!; calls << :flush!; end
    def disconnect!; calls << checkout_timeout; socket.close; end
    def state; [calls.uniq, checkout_timeout, socket.closed?]; end
  end
  USER = Thread.new { sleep }
  SOCKETS = Array.new(2) { TCPSocket.new("127.0.0.1", PORT) }
  DRIVERS = [Struct.new(:socket).new(SOCKETS[0].fileno), SQLite3::Database.new]
  POOLS = SOCKETS.zip(DRIVERS).map { |socket, driver| Pool.new(socket, driver, 5, []) }
  module ActiveRecord
    class Base; end
    def self.version; Gem::Version.new("8.0.2"); end
    def (Base).connection_handler; self; end
    def (Base).connection_pool_list(_role); POOLS; end
  end
  run ->(_) { [200, {}, [POOLS.map(&:state).inspect]] }
RUBY
# Clients in C, which hide their descriptor: a closed one of pg, and two of Trilogy, one of which is connected.
HIDDEN = <<~'RUBY'
  require "fcntl"
  module PG; class Connection; def socket; raise "connection is closed"; end; end; end
  class Trilogy
    attr_reader :connection_options
    def initialize(port)
      @connection_options = { host: "127.0.0.1", port: port }
    end
    def closed?; false; end
  end
  CLOSED = PG::Connection.new
  IDLE, EVENTS = [1, PORT].map { |port| Trilogy.new(port) }
  TCPSocket.open("127.0.0.1", PORT) { |socket| socket.fcntl(Fcntl::F_DUPFD, 3) }
RUBY
if RUBY_ENGINE == "ruby"
  [ONE, EACH].each do |handlers|
    ClientsTest.answering("connections of all roles are closed before a fork", "[:writing, :reading]", ROLES + handlers)
  end
  ClientsTest.answering("idle connections of redis, dalli and Sequel are closed before a fork",
                        [[false] * 5, nil].inspect, CLIENT + ALL)
  ClientsTest.refusing("a class of the application with a client's name is not closed, and none is loaded for that",
                       "#{CLIENT}class RedisClient < Client; closing :close; end\nDATA = RedisClient.new\n" \
                       "autoload :Dalli, '/no/such/file'\n")
  ClientsTest.refusing("a client that a thread uses is not closed",
                       "#{CLIENT}class RedisClient < Client; VERSION = '0.26.0'; closing :close; end\n" \
                       "DATA = RedisClient.new\nThread.new { sleep }\n")
  ClientsTest.refusing("a client in C without a method for its descriptor is named", HIDDEN,
                       /: Trilogy, held by the constant EVENTS/)
  ClientsTest.answering("ActiveRecord's connections of threads stay open, or are closed soon with SQLite",
                        "[[[:flush!], 5, false], [[0.5], 5, true]]", USED)
end
