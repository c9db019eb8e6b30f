# The rules of the Rack 3 SPEC as a middleware that raises at the first breach, with a message that says what is wrong.
# Written for the smallest Ruby there is (no regular expressions), so that it runs on every engine:
#   require_relative "lint"; use Lint; run app

# Checks the environment before the application and the response after it.
class Lint
  class Error < RuntimeError; end

  # What a token of RFC 9110 section 5.6.2 may hold beside letters and digits.
  MARKS = "!#$%&'*+-.^_`|~"
  DIGITS = "0123456789"
  LOWER = "abcdefghijklmnopqrstuvwxyz"
  UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
  NEEDED = %w[REQUEST_METHOD SERVER_NAME QUERY_STRING SERVER_PROTOCOL rack.errors rack.url_scheme]

  def self.fail!(words)
    raise Error, words
  end

  def self.only?(text, allowed)
    text.each_char { |char| return false unless allowed.include?(char) }
    true
  end

  def self.digits?(text)
    text.is_a?(String) && !text.empty? && only?(text, DIGITS)
  end

  def initialize(app)
    @app = app
  end

  def call(env)
    check_env(env)
    input = env["rack.input"]
    env["rack.input"] = Input.new(input) if input
    env["rack.errors"] = Errors.new(env["rack.errors"])
    answer = @app.call(env)
    check_answer(answer)
    status, headers, body = answer
    check_status(status)
    check_headers(status, headers)
    [status, headers, wrap(body, env["REQUEST_METHOD"] == "HEAD")]
  end

  private

  def fail!(words)
    Lint.fail!(words)
  end

  def check_env(env)
    fail!("env is a #{env.class}, not a Hash") unless env.instance_of?(Hash)
    fail!("env is frozen") if env.frozen?
    NEEDED.each { |key| fail!("env has no #{key}") unless env.key?(key) }
    env.each do |key, value|
      next if key.include?(".")
      fail!("env #{key} is a #{value.class}, not a String") unless value.is_a?(String)
    end
    %w[HTTP_CONTENT_TYPE HTTP_CONTENT_LENGTH].each { |key| fail!("env has #{key}, with HTTP_") if env.key?(key) }
    check_request(env)
    check_paths(env)
    check_server(env)
    check_objects(env)
  end

  def check_request(env)
    method = env["REQUEST_METHOD"]
    unless !method.empty? && Lint.only?(method, UPPER + LOWER + DIGITS + MARKS)
      fail!("REQUEST_METHOD #{method.inspect} is not a token")
    end
    scheme = env["rack.url_scheme"]
    fail!("rack.url_scheme is #{scheme.inspect}") unless %w[http https ws wss].include?(scheme)
    length = env["CONTENT_LENGTH"]
    fail!("CONTENT_LENGTH #{length.inspect} is not digits") unless length.nil? || Lint.digits?(length)
    protocol = env["SERVER_PROTOCOL"]
    unless protocol.start_with?("HTTP/") && Lint.only?(protocol[5..-1], DIGITS + ".")
      fail!("SERVER_PROTOCOL is #{protocol.inspect}")
    end
    version = env["HTTP_VERSION"]
    fail!("HTTP_VERSION #{version} differs from SERVER_PROTOCOL") unless version.nil? || version == protocol
  end

  def check_paths(env)
    script = env["SCRIPT_NAME"]
    path = env["PATH_INFO"]
    fail!("SCRIPT_NAME is / (make it empty, and PATH_INFO /)") if script == "/"
    fail!("SCRIPT_NAME #{script.inspect} does not begin with /") unless script.nil? || script.empty? || script[0] == "/"
    fail!("neither SCRIPT_NAME nor PATH_INFO is set") if (script || "").empty? && (path || "").empty?
    return if path.nil? || path.empty? || path[0] == "/"
    return if path == "*" && env["REQUEST_METHOD"] == "OPTIONS"
    return if env["REQUEST_METHOD"] == "CONNECT"
    fail!("PATH_INFO #{path.inspect} does not begin with /")
  end

  def check_server(env)
    fail!("SERVER_NAME is empty") if env["SERVER_NAME"].empty?
    port = env["SERVER_PORT"]
    fail!("SERVER_PORT #{port.inspect} is not a number") unless port.nil? || Lint.digits?(port)
    host = env["HTTP_HOST"]
    fail!("HTTP_HOST #{host.inspect} has a space or a slash") if host && (host.include?(" ") || host.include?("/"))
  end

  def check_objects(env)
    answers(env, "rack.errors", [:puts, :write, :flush])
    answers(env, "rack.input", [:gets, :each, :read]) if env["rack.input"]
    answers(env, "rack.session", [:store, :[]=, :fetch, :[], :delete, :clear]) if env["rack.session"]
    answers(env, "rack.logger", [:info, :debug, :warn, :error, :fatal]) if env["rack.logger"]
    answers(env, "rack.hijack", [:call]) if env["rack.hijack"]
    answers(env, "rack.early_hints", [:call]) if env["rack.early_hints"]
    (env["rack.response_finished"] || []).each do |done|
      fail!("rack.response_finished has a #{done.class} that does not answer call") unless done.respond_to?(:call)
    end
  end

  def answers(env, key, names)
    names.each { |name| fail!("#{key} does not answer #{name}") unless env[key].respond_to?(name) }
  end

  def check_answer(answer)
    fail!("response is a #{answer.class}, not an Array") unless answer.is_a?(Array)
    fail!("response is frozen") if answer.frozen?
    fail!("response has #{answer.size} elements, not 3") unless answer.size == 3
  end

  def check_status(status)
    fail!("status #{status.inspect} is not an Integer of 100 and more") unless status.is_a?(Integer) && status >= 100
  end

  def check_headers(status, headers)
    fail!("headers are a #{headers.class}, not a Hash") unless headers.is_a?(Hash)
    fail!("headers are frozen") if headers.frozen?
    headers.each { |name, value| check_header(name, value) }
    bare = status < 200 || status == 204 || status == 304
    %w[content-type content-length].each do |name|
      fail!("#{name} with status #{status}, which has no body") if bare && headers.key?(name)
    end
  end

  def check_header(name, value)
    fail!("header name #{name.inspect} is not a String") unless name.is_a?(String)
    return if name.start_with?("rack.")
    fail!("header name is status") if name == "status"
    fail!("header name #{name.inspect} has upper case") if name.each_char.any? { |char| UPPER.include?(char) }
    fail!("header name #{name.inspect} is not a token") unless !name.empty? && Lint.only?(name, LOWER + DIGITS + MARKS)
    values = value.is_a?(Array) ? value : [value]
    values.each do |one|
      fail!("value of #{name} is a #{one.class}, not a String") unless one.is_a?(String)
      fail!("value of #{name} has a control character") if one.each_byte.any? { |byte| byte < 32 && byte != 9 }
    end
  end

  def wrap(body, head)
    if body.respond_to?(:each)
      fail!("body is a String") if body.is_a?(String)
      fail!("to_path names no file") if body.respond_to?(:to_path) && !File.exist?(body.to_path)
      Body.new(body, head)
    else
      fail!("body answers neither each nor call") unless body.respond_to?(:call)
      Streaming.new(body)
    end
  end

  # What can be asked of rack.input, and how.
  class Input
    def initialize(input)
      @input = input
    end

    def read(*arguments)
      Lint.fail!("rack.input.read takes at most 2 arguments") if arguments.size > 2
      length = arguments[0]
      Lint.fail!("rack.input.read(#{length.inspect})") unless length.nil? || (length.is_a?(Integer) && length >= 0)
      got = @input.read(*arguments)
      Lint.fail!("rack.input.read gave a #{got.class}") unless got.nil? || got.is_a?(String)
      Lint.fail!("rack.input.read without length gave nil at the end") if length.nil? && got.nil?
      Lint.fail!("rack.input.read(#{length}) gave #{got.bytesize} bytes") if length && got && got.bytesize > length
      got
    end

    def gets(*arguments)
      Lint.fail!("rack.input.gets takes no argument") unless arguments.empty?
      got = @input.gets
      Lint.fail!("rack.input.gets gave a #{got.class}") unless got.nil? || got.is_a?(String)
      got
    end

    def each
      @input.each do |line|
        Lint.fail!("rack.input.each gave a #{line.class}") unless line.is_a?(String)
        yield line
      end
    end

    def close
      @input.close if @input.respond_to?(:close)
    end

    def rewind
      @input.rewind
    end
  end

  # What can be said to rack.errors.
  class Errors
    def initialize(errors)
      @errors = errors
    end

    def puts(words)
      @errors.puts(words)
    end

    def write(words)
      Lint.fail!("rack.errors.write takes a String") unless words.is_a?(String)
      @errors.write(words)
    end

    def flush
      @errors.flush
    end

    def close
      Lint.fail!("rack.errors must not be closed")
    end
  end

  # An enumerable body: asked once, gives Strings, closed once.
  class Body
    def initialize(body, head)
      @body = body
      @head = head
      @asked = false
      @closed = false
    end

    def each
      Lint.fail!("body is asked twice") if @asked
      Lint.fail!("body is asked after close") if @closed
      @asked = true
      @body.each do |part|
        Lint.fail!("body gave a #{part.class}, not a String") unless part.is_a?(String)
        Lint.fail!("body gave bytes for HEAD") if @head && !part.empty?
        yield part
      end
    end

    def close
      Lint.fail!("body is closed twice") if @closed
      @closed = true
      @body.close if @body.respond_to?(:close)
    end
  end

  # A streaming body: called once with a stream that can do what the SPEC says.
  class Streaming
    def initialize(body)
      @body = body
      @called = false
    end

    def call(stream)
      Lint.fail!("streaming body is called twice") if @called
      @called = true
      [:read, :write, :<<, :flush, :close, :close_read, :close_write, :closed?].each do |name|
        Lint.fail!("stream does not answer #{name}") unless stream.respond_to?(name)
      end
      @body.call(stream)
    end

    def close
      @body.close if @body.respond_to?(:close)
    end
  end
end
