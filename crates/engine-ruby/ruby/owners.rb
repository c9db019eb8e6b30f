# frozen_string_literal: true

# The objects of the application that hold a connection, read from Ruby's heap for an error message.

module FoolsGold
  # Finds the objects that refer to a descriptor. It scans the heap several times, so it is only used to report an
  # error.
  class Owners
    # The longest chain of objects, and the time limit in seconds.
    DEPTH = 6
    SECONDS = 3

    # Clients in C that hide their socket.
    CLIENTS = %w[PG::Connection Mysql2::Client Trilogy].freeze

    # Classes whose objects refer to the local variables of this search.
    STACKS = %w[Thread Ractor Fiber Enumerator Binding].freeze

    # A description such as `TCPSocket, held by RedisClient::RubyConnection, RedisClient, $redis`; nil if nothing is
    # known.
    def self.of(number)
      new(number).words
    rescue LoadError, StandardError
      nil # A Ruby without objspace, or an object that cannot be asked.
    end

    def initialize(number)
      @number = number
      @until = Process.clock_gettime(Process::CLOCK_MONOTONIC) + SECONDS
    end

    def words
      require "objspace"
      found = holder or return
      names = [found.class.name]
      DEPTH.times do
        name = named(found)
        break names << name if name

        found = owner(found) or break
        break names << found.inspect if found.is_a?(Module)

        names << found.class.name unless found.is_a?(Array) || found.is_a?(Hash) || names.last == found.class.name
      end
      names = names.compact
      names.size > 1 ? "#{names.first}, held by #{names.drop(1).join(', ')}" : names.first
    end

    private

    # The application's own object. One of BasicSocket itself is what Descriptors has looked through, and is not
    # collected yet.
    def holder
      ObjectSpace.each_object(IO) { |io| return io if !io.instance_of?(BasicSocket) && number_of(io) == @number }
      CLIENTS.each do |name|
        client = Object.const_get(name) if Object.const_defined?(name)
        client && ObjectSpace.each_object(client) { |one| return one if holds?(one) }
      end
      nil
    end

    # Whether the descriptor is that of a client. Trilogy has no method for its number, so its options are compared.
    def holds?(client)
      return client.socket == @number if client.respond_to?(:socket)

      !client.closed? && server?(client.connection_options)
    rescue StandardError
      false # It is closed, or an older Trilogy.
    end

    # Whether the options of a client name the server at the other end of the descriptor; MySQL's usual port is 3306.
    def server?(options)
      socket = BasicSocket.for_fd(@number)
      socket.autoclose = false
      peer = socket.remote_address
      return peer.unix_path == options[:socket] if peer.unix?

      !options[:host].nil? && peer.ip_port == (options[:port] || 3306)
    end

    def number_of(io)
      io.fileno unless io.closed?
    rescue IOError
      nil
    end

    # The name of a global variable, or of a constant of a class or module, whose value this is.
    def named(object)
      variable = global_variables.find { |name| !name.match?(/\A\$\W|\A\$-/) && eval(name.to_s).equal?(object) }
      return variable.to_s if variable

      ObjectSpace.each_object(Module) do |place|
        next if place.singleton_class? || place.name.nil?

        constant = place.constants(false).find { |name| !place.autoload?(name) && place.const_get(name).equal?(object) }
        return place == Object ? "the constant #{constant}" : "the constant #{place}::#{constant}" if constant
      end
      nil
    end

    # An object of the application that refers to this one.
    def owner(object)
      ObjectSpace.each_object(Object) do |one|
        return nil if Process.clock_gettime(Process::CLOCK_MONOTONIC) > @until
        next if one.equal?(object) || one.equal?(self) || STACKS.include?(one.class.name)

        return one if ObjectSpace.reachable_objects_from(one)&.any? { |reached| reached.equal?(object) }
      end
      nil
    end
  end
end
