# frozen_string_literal: true

# Clients of databases and caches that the application has connected before workers are forked, and that connect again
# by themselves.

module FoolsGold
  # Closes idle connections of such clients, which two processes must not share, and says which of their libraries are
  # loaded. Loads no library, and never raises.
  class DatabaseClients
    # Classes of clients whose documentation says that they connect again at their next use, each with the method that
    # closes a connection: redis-client (and redis 5, which is based on it), redis before that, dalli.
    CACHES = { "RedisClient" => :close, "Redis::Client" => :disconnect, "Dalli::Client" => :close }.freeze

    # Libraries with which an application may have a connection to a database for each of its threads.
    LIBRARIES = %w[PG Mysql2 Trilogy SQLite3 TinyTds OCI8 ActiveRecord::Base Sequel ROM Mongo Redis RedisClient Dalli
                   Memcached Bunny Cassandra Couchbase Neo4j InfluxDB2 Net::LDAP].freeze

    # Types of databases that Sequel has in the memory of this process, unless they have a file.
    EMBEDDED = %i[sqlite duckdb].freeze

    # The checkout timeout of a pool, in seconds, while it is closed with connections in use. ActiveRecord waits twice
    # as long until threads return them.
    CHECKOUT_SECONDS = 0.5

    # Numbers of the descriptors of ActiveRecord's connections that threads use. ActiveRecord discards these connections
    # in a forked process.
    attr_reader :in_use

    def initialize
      @in_use = []
      @failed = []
    end

    # The names of the LIBRARIES that are loaded.
    def libraries
      LIBRARIES.select { |name| loaded(name) }
    end

    def close
      close_databases
      close_caches
    end

    def close_databases
      guard("ActiveRecord") { close_active_record }
      guard("Sequel") { close_sequel }
    end

    private

    # Runs the block, and logs its exception, once for each library: a connection that is still open then is named where
    # it prevents a fork.
    def guard(library)
      yield
    rescue StandardError, ScriptError => error
      return if @failed.include?(library)

      @failed << library
      Log.exception(error, "connections of #{library} could not be closed before the fork")
    end

    # The value of a constant that is loaded; nil for one that is not, such as one with an autoload.
    def loaded(name)
      name.split("::").inject(Object) do |place, part|
        return nil unless place.is_a?(Module) && place.const_defined?(part, false) && !place.autoload?(part)

        place.const_get(part, false)
      end
    end

    # Closes the connections of all roles: also those to replicas. Before ActiveRecord::Base is loaded there are none,
    # and its load may fail where there is no configuration of a database.
    def close_active_record
      @in_use = []
      base = loaded("ActiveRecord::Base")
      return unless base.respond_to?(:connection_handler)

      (handlers_of_roles(base) | [base.connection_handler]).each do |handler|
        pools = pools(handler)
        next handler.clear_all_connections! unless pools

        pools.each { |pool| guard("ActiveRecord") { close_pool(pool) } }
      end
    end

    # Up to Rails 7.0 each role may have a handler of its own.
    def handlers_of_roles(base)
      base.respond_to?(:connection_handlers) ? base.connection_handlers.values : []
    rescue NotImplementedError
      []
    end

    # The pools of all roles; nil up to Rails 6.0.
    def pools(handler)
      return handler.connection_pool_list(:all) if ActiveRecord.version >= Gem::Version.new("7.1")

      handler.all_connection_pools if handler.respond_to?(:all_connection_pools)
    end

    # Closes the connections of a pool. `disconnect!` waits for those that threads use, ten seconds by default, and then
    # closes them in the middle of a query. Those whose driver has a method for their descriptor can stay open, because
    # a worker discards them. Those of SQLite, which must not be open in a fork, are closed after a short wait.
    def close_pool(pool)
      pool.release_connection
      used = pool.connections.select { |one| one.owner&.alive? }
      return pool.disconnect! if used.empty?

      clients = used.map { |one| client(one) }.compact
      return disconnect_soon(pool) if clients.any? { |one| one.class.name.to_s.start_with?("SQLite3::") }

      pool.flush!
      @in_use.concat(clients.map { |one| number(one) }.compact)
    end

    # The object of the driver (up to Rails 7.0 in another variable); nil if it is not connected.
    def client(connection)
      connection.instance_variable_get(:@raw_connection) || connection.instance_variable_get(:@connection)
    end

    # The number of the descriptor of PG::Connection or Mysql2::Client; nil if it is closed, or the driver has no method
    # for it (Trilogy): an open connection prevents the fork then.
    def number(client)
      client.socket if client.respond_to?(:socket)
    rescue StandardError
      nil
    end

    def disconnect_soon(pool)
      usual = pool.checkout_timeout
      pool.checkout_timeout = CHECKOUT_SECONDS
      pool.disconnect!
    ensure
      pool.checkout_timeout = usual
    end

    # Closes the connections that no thread uses, of all databases, as Sequel's documentation asks for ("Fork Safety").
    def close_sequel
      databases = loaded("Sequel::DATABASES")
      return unless databases.is_a?(Array)

      databases.dup.each { |database| guard("Sequel") { database.disconnect unless in_memory?(database) } }
    end

    # Whether the database would be empty after its only connection is closed.
    def in_memory?(database)
      EMBEDDED.include?(database.database_type) && !::File.file?(database.opts[:database].to_s)
    end

    def close_caches
      CACHES.each do |name, method|
        guard(name) do
          library = loaded(name)
          close_all(library, method) if library.is_a?(Class) && of_gem?(name)
        end
      end
    end

    # Whether it is a class of the gem, which has a version, and not one of the application with the same name.
    def of_gem?(name)
      !loaded("#{name[/\A\w+/]}::VERSION").nil?
    end

    # Closes all objects of a class, unless a thread is inside of their library. They are searched for on the heap:
    # applications keep them in pools, constants and variables of all kinds.
    def close_all(library, method)
      return if busy?(library, method)

      clients = ObjectSpace.each_object(library).to_a
      return if clients.empty?

      clients.each { |client| guard(library.name) { client.public_send(method) } }
      Log.debug("closed before a fork: connections of #{clients.size} #{library.name}, which connect again when used")
    end

    # Whether a thread is inside of the library, as in the middle of a command, a transaction or a subscription. The
    # commands of redis are in another gem than the client's. A library without the method, or without a file, counts as
    # busy.
    def busy?(library, method)
      files = [own_file(library, method), (own_file(::Redis, :close) if loaded("Redis").is_a?(Class))]
      return true if files.first.nil?

      beginnings = files.compact.map { |file| file.delete_suffix(".rb").b }
      (Thread.list - [Thread.current]).any? do |thread|
        thread.backtrace&.any? { |line| line.b.start_with?(*beginnings) }
      end
    end

    # The file in which a class itself defines a method, which other gems may override; nil if it does not.
    def own_file(library, method)
      found = library.instance_method(method) if library.method_defined?(method)
      found = found.super_method while found && found.owner.name.to_s[/\A\w+/] != library.name[/\A\w+/]
      found&.source_location&.first
    end
  end
end
