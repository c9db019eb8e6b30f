# frozen_string_literal: true

# Clients of databases and caches that the application has connected before workers are forked, and that connect again
# by themselves.

module FoolsGold
  # Closes idle connections of such clients, which two processes must not share. Loads no library, and never raises.
  class Clients
    # Classes of clients whose documentation says that they connect again at their next use, each with the method that
    # closes a connection: redis-client (and redis 5, which is based on it), redis before that, dalli.
    CACHES = { "RedisClient" => :close, "Redis::Client" => :disconnect, "Dalli::Client" => :close }.freeze

    # Databases of Sequel that are in this process, unless they are in a file.
    EMBEDDED = %i[sqlite duckdb].freeze

    # Half of the seconds for which a pool waits until threads return connections.
    TURN = 0.5

    # Numbers of the descriptors of ActiveRecord's connections that threads use. It discards them in a forked process.
    attr_reader :lent

    def initialize
      @lent = []
      @failed = []
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

    # Logs an exception, once for each library: what is still open then is named where it prevents a fork.
    def guard(library)
      yield
    rescue StandardError, ScriptError => error
      return if @failed.include?(library)

      @failed << library
      Log.exception(error, "connections of #{library} could not be closed before the fork")
    end

    # The value of a constant that is there already, without its load; nil if there is none.
    def loaded(name)
      name.split("::").inject(Object) do |place, part|
        return nil unless place.is_a?(Module) && place.const_defined?(part, false) && !place.autoload?(part)

        place.const_get(part, false)
      end
    end

    # Closes those of all roles: connections to replicas, too. Before ActiveRecord::Base is loaded there are none, and
    # its load may fail where there is no configuration of a database.
    def close_active_record
      @lent = []
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
    # closes them in the middle of a query. With a driver that tells their descriptors they can stay open, because a
    # worker discards them. Others are closed after a short wait: SQLite must not be open in a fork.
    def close_pool(pool)
      pool.release_connection
      used = pool.connections.select { |one| one.owner&.alive? }
      return pool.disconnect! if used.empty?

      clients = used.map { |one| client(one) }.compact
      return disconnect_soon(pool) if clients.any? { |one| one.class.name.to_s.start_with?("SQLite3::") }

      pool.flush!
      @lent.concat(clients.map { |one| number(one) }.compact)
    end

    # The object of the driver (up to Rails 7.0 in another variable); nil if it is not connected.
    def client(connection)
      connection.instance_variable_get(:@raw_connection) || connection.instance_variable_get(:@connection)
    end

    # The number of the descriptor of PG::Connection or Mysql2::Client; nil if it is closed, or the driver does not tell
    # it (Trilogy): what is open then prevents the fork.
    def number(client)
      client.socket if client.respond_to?(:socket)
    rescue StandardError
      nil
    end

    def disconnect_soon(pool)
      usual = pool.checkout_timeout
      pool.checkout_timeout = TURN # ActiveRecord waits for twice as long.
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
          close_all(library, method) if library.is_a?(Class) && of_gem?(name) && library.method_defined?(method)
        end
      end
    end

    # Whether it is a class of the gem, which has a version, and not one of the application with the same name.
    def of_gem?(name)
      !loaded("#{name[/\A\w+/]}::VERSION").nil?
    end

    # Clients are found on the heap: applications keep them in pools, constants and variables of all kinds.
    def close_all(library, method)
      return if busy?(library, method)

      clients = ObjectSpace.each_object(library).to_a
      return if clients.empty?

      clients.each { |client| guard(library.name) { client.public_send(method) } }
      Log.debug("closed before a fork: connections of #{clients.size} #{library.name}, which connect again when used")
    end

    # Whether a thread is inside of the library, as in the middle of a command, a transaction or a subscription. The
    # commands of redis are in another gem than the client's.
    def busy?(library, method)
      files = [own_file(library, method), (own_file(::Redis, :close) if loaded("Redis").is_a?(Class))]
      return true if files.first.nil?

      folders = files.compact.map { |file| file.delete_suffix(".rb").b }
      (Thread.list - [Thread.current]).any? do |thread|
        thread.backtrace&.any? { |line| line.b.start_with?(*folders) }
      end
    end

    # The file in which a class defines a method: other gems may put their own before it.
    def own_file(library, method)
      found = library.instance_method(method) if library.method_defined?(method)
      found = found.super_method while found && found.owner.name.to_s[/\A\w+/] != library.name[/\A\w+/]
      found&.source_location&.first
    end
  end
end
