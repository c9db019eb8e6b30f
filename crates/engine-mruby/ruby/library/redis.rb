# Redis with the API of the gem redis 5. Each object has one connection, which is opened on first use.

class Redis
  VERSION = "5.0.0"

  SETTINGS = %i[url host port path db username password timeout connect_timeout read_timeout reconnect_attempts id
                write_timeout driver ssl name inherit_socket protocol].freeze

  FoolsGold::Loader.library("timeout")
  %w[errors commands collections pipeline].each { |part| FoolsGold::Loader.library("foolsgold/redis_#{part}") }
  include Commands
  include Collections

  # `url:` is "redis://user:password@host:6379/0" or "unix:///path"; else host:, port:, path:, db:, username: and
  # password: count. `timeout:` is in seconds, 5 by default.
  def initialize(**settings)
    unknown = settings.keys - SETTINGS
    raise ArgumentError, "unknown keywords: #{unknown.join(', ')}" unless unknown.empty?
    @host = "localhost"
    @port = 6379
    @db = 0
    take_url(settings[:url] || ENV["REDIS_URL"] || "") unless settings[:host] || settings[:path]
    %i[host port path db username password].each do |name|
      instance_variable_set("@#{name}", settings[name]) if settings[name]
    end
    raise ArgumentError, "rediss:// and ssl: are not there: a connection is plain" if settings[:ssl]
    timeout = settings[:timeout] || 5
    @connect_timeout = settings[:connect_timeout] || timeout
    @read_timeout = settings[:read_timeout] || timeout
    @attempts = settings[:reconnect_attempts] || 1
  end

  attr_reader :db

  def id = @path ? "unix://#{@path}" : "redis://#{@host}:#{@port}/#{@db}"
  def connected? = !@handle.nil?
  def inspect = "#<Redis client v#{VERSION} for #{id}>"
  alias _client itself

  def close
    FoolsGold::Native.handle_close(@handle) if @handle
    @handle = nil
  end
  alias disconnect! close
  alias quit close

  # Sends any command: call("SET", "key", 1).
  def call(*command) = send_command(command)

  def send_command(command, wait = nil)
    reply = Redis.checked(exchange([Redis.plain(command)], wait).first)
    block_given? ? yield(reply) : reply
  end

  # Sends all commands of the block at once and returns their replies.
  def pipelined(exception: true)
    pipeline = Pipeline.new
    yield pipeline
    return [] if pipeline.commands.empty?
    pipeline.settle(exchange(pipeline.commands), exception)
  end

  # Sends all commands of the block as a transaction (MULTI), and returns their replies.
  def multi(**)
    pipeline = Pipeline.new
    yield pipeline
    return [] if pipeline.commands.empty?
    replies = exchange([["MULTI"], *pipeline.commands, ["EXEC"]])
    refused = replies.find { |reply| reply.is_a?(Symbol) }
    Redis.checked(refused) if refused
    replies.last && pipeline.settle(replies.last, true)
  end

  # Makes the next transaction fail if another client changes one of these keys.
  def watch(*keys)
    result = send_command(["WATCH", *keys])
    return result unless block_given?
    begin
      yield self
    rescue ConnectionError
      raise
    rescue StandardError
      unwatch
      raise
    end
  end

  def unwatch = send_command(["UNWATCH"])

  %i[subscribe psubscribe ssubscribe monitor].each do |name|
    define_method(name) { |*, **| raise NotImplementedError, "Redis##{name}: #{FoolsGold::HINT}" }
  end

  # A command of texts and numbers, with Hashes and Arrays flattened.
  def self.plain(command)
    command.flat_map { |part| part.is_a?(Hash) ? part.to_a.flatten : part }.flatten
  end

  private

  def take_url(url)
    return if url.empty?
    uri = URI.parse(url)
    return @path = uri.path if uri.scheme == "unix"
    known = uri.scheme == "redis"
    raise ArgumentError, "invalid uri scheme '#{uri.scheme}': redis:// and unix:// are there" unless known
    @host = uri.host unless uri.host.to_s.empty?
    @port = uri.port || 6379
    @db = uri.path[1..-1].to_i if uri.path.size > 1
    user = URI.decode_uri_component(uri.user.to_s)
    @password = URI.decode_uri_component(uri.password) if uri.userinfo.to_s.include?(":")
    @username = user unless user.empty? || user == "default"
  end

  def exchange(commands, wait = nil, tries = 0)
    fresh = @handle.nil?
    connect if fresh
    FoolsGold::Native.redis_call(@handle, commands, wait ? @read_timeout + wait : @read_timeout)
  rescue TypeError, ArgumentError
    raise
  rescue ::Exception => error
    # Closed in any case: a part of the reply may still be on its way.
    close
    # Only a connection that was kept is tried again: the server may have closed it meanwhile.
    raise if fresh || !error.is_a?(ConnectionError) || tries >= @attempts
    exchange(commands, wait, tries + 1)
  end

  def connect
    where = @path ? [@path, nil] : [@host, @port]
    @handle = FoolsGold.with_room { FoolsGold::Native.redis_open(*where, @connect_timeout) }
    first = []
    first << ["AUTH", *@username, @password] if @password
    first << ["SELECT", @db] if @db.to_i != 0
    return if first.empty?
    FoolsGold::Native.redis_call(@handle, first, @read_timeout).each { |reply| Redis.checked(reply) }
  rescue CannotConnectError => error
    raise CannotConnectError, "Error connecting to Redis on #{@path || "#{@host}:#{@port}"} (#{error.message})"
  end
end
