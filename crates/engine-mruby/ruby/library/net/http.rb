# Net::HTTP over a client in Rust (ruby-data/src/http/), which keeps connections for the next request. A call ends at
# the deadline of the request that makes it (--request-time) at the latest.

# Exceptions of networks, under the names of Ruby's library.
class SocketError < StandardError; end unless Object.const_defined?(:SocketError)

# mruby creates these classes on first use, and Rust raises them by name.
[Errno::ECONNREFUSED, Errno::ECONNRESET, Errno::ECONNABORTED, Errno::EPIPE, Errno::EHOSTUNREACH, Errno::ENETUNREACH]

FoolsGold::Loader.library("timeout")
FoolsGold::Loader.library("openssl")
FoolsGold::Loader.require("uri")

module Net
  # Headers of a request or response: names in any case, each with all its values.
  module HTTPHeader
    def initialize_http_header(headers)
      @header = {}
      headers&.each { |name, value| self[name] = value.is_a?(String) ? value.strip : value }
    end

    def [](name)
      values = @header[name.to_s.downcase]
      values && values.join(", ")
    end

    def []=(name, value)
      return delete(name) unless value
      @header[name.to_s.downcase] = values_of(value)
    end

    def add_field(name, value)
      (@header[name.to_s.downcase] ||= []).concat(values_of(value))
    end

    def get_fields(name) = @header[name.to_s.downcase]&.dup

    def fetch(name, *default, &block)
      self[name] || @header.fetch(name.to_s.downcase, *default, &block)
    end

    def key?(name) = @header.key?(name.to_s.downcase)
    def delete(name) = @header.delete(name.to_s.downcase)
    def size = @header.size
    alias length size

    def each_header
      return to_enum(:each_header) unless block_given?
      @header.each { |name, values| yield name, values.join(", ") }
    end
    alias each each_header

    def each_name(&block) = @header.keys.each(&block)
    alias each_key each_name

    def each_value
      return to_enum(:each_value) unless block_given?
      @header.each_value { |values| yield values.join(", ") }
    end

    def each_capitalized
      return to_enum(:each_capitalized) unless block_given?
      @header.each { |name, values| yield capitalized(name), values.join(", ") }
    end
    alias canonical_each each_capitalized

    def each_capitalized_name
      return to_enum(:each_capitalized_name) unless block_given?
      @header.each_key { |name| yield capitalized(name) }
    end

    def to_hash = @header.dup

    # The headers for Rust: a pair for each value.
    def pairs = @header.flat_map { |name, values| values.map { |value| [name, value] } }

    # Asks for a part of the body: a Range of bytes, or `length` bytes from the position `part` on. Without `length`, a
    # number asks for as many first bytes, or last ones if it is negative. nil asks for the whole body.
    def set_range(part, length = nil)
      return delete("range") && nil if part.nil?
      part = (part...part + length) if length
      @header["range"] = ["bytes=#{part.is_a?(Numeric) ? count_of(part.to_i) : span_of(part)}"]
      part
    end
    alias range= set_range

    # The parts that `set_range` has asked for, as Ranges: 5..-1 is all from byte 5 on, -5..-1 the last five bytes. nil
    # for the whole body.
    def range
      return unless (text = self["range"])
      parts = text[/\Abytes=(.*)/m, 1].to_s.split(",").map(&:strip).reject(&:empty?)
      unless !parts.empty? && parts.all?(/\A(?:\d+-\d*|-\d+)\z/)
        raise HTTPHeaderSyntaxError, "invalid syntax for byte-ranges-specifier: '#{text}'"
      end
      ranges = parts.map { |part| range_of(part) }
      return ranges unless ranges == [0..-1]
      raise HTTPHeaderSyntaxError, "only one suffix-byte-range-spec with zero suffix-length"
    end

    # The bytes that the response contains, as a Range; nil without a Content-Range, or where its unit is another one.
    def content_range
      return unless (text = self["content-range"])
      found = %r{\A\s*(\w+)\s+(\d+)-(\d+)/(?:\d+|\*)}.match(text)
      raise HTTPHeaderSyntaxError, "wrong Content-Range format" unless found
      found[1] == "bytes" ? (found[2].to_i..found[3].to_i) : nil
    end

    # Number of bytes of `content_range`.
    def range_length
      part = content_range
      part && part.end - part.begin + 1
    end

    def content_length
      return unless key?("content-length")
      self["content-length"][/\d+/]&.to_i || raise(HTTPHeaderSyntaxError, "wrong Content-Length format")
    end

    def content_length=(length)
      self["content-length"] = length&.to_s
    end

    def content_type = self["content-type"]&.split(";", 2)&.first&.strip
    def main_type = content_type&.split("/")&.first
    def sub_type = content_type&.split("/", 2)&.[](1)
    def chunked? = self["transfer-encoding"].to_s.downcase.include?("chunked")
    def connection_close? = connection_has?("close")
    def connection_keep_alive? = connection_has?("keep-alive")

    # Parameters of the Content-Type. A value in quotes keeps its quotes, as in CRuby.
    def type_params
      parts = self["content-type"].to_s.split(";").drop(1).map { |part| part.split("=", 2).map(&:strip) }
      parts.select { |part| part.size == 2 }.to_h
    end

    def set_content_type(type, params = {})
      self["content-type"] = type + params.map { |name, value| "; #{name}=#{value}" }.join
    end
    alias content_type= set_content_type

    def set_form_data(params, separator = "&")
      text = params.is_a?(String) ? params : URI.encode_www_form(params)
      self.body = separator == "&" ? text : text.gsub("&", separator)
      self.content_type = "application/x-www-form-urlencoded"
    end
    alias form_data= set_form_data

    def basic_auth(user, password)
      self["authorization"] = basic_credentials(user, password)
    end

    def proxy_basic_auth(user, password)
      self["proxy-authorization"] = basic_credentials(user, password)
    end

    private

    def basic_credentials(user, password) = "Basic #{["#{user}:#{password}"].pack('m0')}"

    def count_of(number) = number > 0 ? "0-#{number - 1}" : "-#{-number}"

    def span_of(part)
      first, last = part.begin, part.end
      last -= 1 if part.exclude_end?
      return first > 0 ? "#{first}-" : "-#{-first}" if last == -1
      raise HTTPHeaderSyntaxError, "range.first is negative" if first < 0
      raise HTTPHeaderSyntaxError, "range.last is negative" if last < 0
      raise HTTPHeaderSyntaxError, "must be .first < .last" if first > last
      "#{first}-#{last}"
    end

    # One part of a Range header.
    def range_of(part)
      first, last = part.split("-", 2)
      return Range.new(-last.to_i, -1) if first.empty?
      return first.to_i..-1 if last.empty?
      if first.to_i > last.to_i
        raise HTTPHeaderSyntaxError, "last-byte-pos MUST greater than or equal to first-byte-pos but '#{part}'"
      end
      first.to_i..last.to_i
    end

    # The values of a field as texts: of an Enumerable each, at any depth.
    def values_of(value)
      return value.to_a.flat_map { |one| values_of(one) } if value.is_a?(Enumerable)
      value = value.to_s
      raise ArgumentError, "header field value cannot include CR/LF" if value.include?("\r") || value.include?("\n")
      [value]
    end

    def capitalized(name) = name.split("-").map(&:capitalize).join("-")

    def connection_has?(word)
      values = [*get_fields("connection"), *get_fields("proxy-connection")]
      values.any? { |value| value.downcase.split(",").any? { |one| one.strip == word } }
    end
  end

  class ProtocolError < StandardError; end
  class ProtoSyntaxError < ProtocolError; end
  class OpenTimeout < Timeout::Error; end
  class ReadTimeout < Timeout::Error; end
  class WriteTimeout < Timeout::Error; end
  class HTTPBadResponse < StandardError; end
  class HTTPHeaderSyntaxError < StandardError; end

  # Raised by HTTPResponse#value.
  module HTTPExceptions
    attr_reader :response

    def initialize(message, response)
      super(message)
      @response = response
    end
  end

  %i[HTTPError HTTPRetriableError HTTPClientException HTTPFatalError].each do |name|
    const_set(name, Class.new(ProtocolError)).include(HTTPExceptions)
  end
  HTTPServerException = HTTPClientException

  # Requests of Net::HTTP, one class for each method.
  class HTTPGenericRequest
    include HTTPHeader

    # Whether a compressed body is decompressed: the application has asked neither for an encoding nor for a part.
    attr_reader :decode_content
    attr_reader :method, :path, :uri, :body, :body_stream

    def initialize(method, has_request_body, has_response_body, where, headers = nil)
      @method = method.to_s.upcase
      @has_request_body = has_request_body
      @has_response_body = has_response_body
      if where.is_a?(URI::Generic)
        raise ArgumentError, "not an HTTP URI" unless where.is_a?(URI::HTTP)
        raise ArgumentError, "no host component for URI" if where.hostname.to_s.empty?
      end
      @uri = where unless where.is_a?(String)
      @path = @uri ? @uri.request_uri : where
      raise ArgumentError, "no HTTP request path given" if @path.nil?
      raise ArgumentError, "HTTP request path is empty" if @path.empty?
      initialize_http_header(headers)
      unless key?("accept-encoding") || key?("range")
        self["accept-encoding"] = "gzip;q=1.0,deflate;q=0.6,identity;q=0.3"
        @decode_content = has_response_body
      end
      self["accept"] ||= "*/*"
      self["user-agent"] ||= "Ruby"
      self["host"] ||= @uri.authority.split("@").last if @uri
    end

    def []=(name, value)
      @decode_content = false if name.to_s.downcase == "accept-encoding"
      super
    end

    def request_body_permitted? = @has_request_body
    def response_body_permitted? = @has_response_body

    def body=(text)
      @body_stream = nil
      @body = text
    end

    def body_stream=(stream)
      @body = nil
      @body_stream = stream
    end

    # The body to send. A request that may have one sends an empty one, and the type of a form, as in CRuby.
    def whole_body
      self.body = "" if @body.nil? && @body_stream.nil? && request_body_permitted?
      text = @body_stream ? @body_stream.read : @body
      text &&= text.to_s
      self.content_type = "application/x-www-form-urlencoded" if text && !key?("content-type")
      # The Rust client sets Content-Length.
      delete("content-length")
      delete("transfer-encoding")
      text
    end

    # Sets the fields of a form, some of which may be files: [["name", "value"], ["file", io, { filename: "a.txt" }]].
    def set_form(params, type = "application/x-www-form-urlencoded", options = {})
      return set_form_data(params) unless type == "multipart/form-data"
      boundary = options[:boundary] || "----FoolsGold#{SecureRandom.hex(12)}"
      parts = params.map { |name, value, options| part(name, value, options || {}) }
      self.body = "--#{boundary}\r\n" + parts.join("\r\n--#{boundary}\r\n") + "\r\n--#{boundary}--\r\n"
      self["content-type"] = "multipart/form-data; boundary=#{boundary}"
    end

    def inspect = "#<#{self.class} #{@method}>"

    private

    def part(name, value, options)
      file = options[:filename] || (value.respond_to?(:path) && File.basename(value.path))
      head = "Content-Disposition: form-data; name=#{quoted(name)}#{"; filename=#{quoted(file)}" if file}"
      head += "\r\nContent-Type: #{options[:content_type] || "application/octet-stream"}" if file
      "#{head}\r\n\r\n#{value.respond_to?(:read) ? value.read : value}"
    end

    def quoted(text)
      escaped = text.to_s.gsub(/[\\"]/) { |char| "\\#{char}" }
      "\"#{escaped}\""
    end
  end

  class HTTPRequest < HTTPGenericRequest
    def initialize(where, headers = nil)
      super(self.class::METHOD, self.class::REQUEST_HAS_BODY, self.class::RESPONSE_HAS_BODY, where, headers)
    end
  end

  class HTTP
    GenericRequest = HTTPGenericRequest
    Request = HTTPRequest
    Header = HTTPHeader

    { Get: [false, true], Head: [false, false], Post: [true, true], Put: [true, true], Delete: [false, true],
      Options: [false, true], Trace: [false, true], Patch: [true, true], Copy: [false, true], Move: [false, true],
      Lock: [true, true], Unlock: [true, true], Mkcol: [true, true], Propfind: [true, true],
      Proppatch: [true, true] }.each do |name, (takes, gives)|
      type = const_set(name, Class.new(HTTPRequest))
      type.const_set(:METHOD, name.to_s.upcase)
      type.const_set(:REQUEST_HAS_BODY, takes)
      type.const_set(:RESPONSE_HAS_BODY, gives)
    end
  end

  # Responses of Net::HTTP: a class for each status, and reading of the body.
  class HTTPResponse
    include HTTPHeader

    # Whether responses of this class have a body; where they have none, `body` is nil.
    HAS_BODY = true
    def self.body_permitted? = self::HAS_BODY

    attr_reader :code, :message, :http_version, :uri
    # The encoding of `body`: false for bytes, true for that of the Content-Type.
    attr_accessor :body_encoding
    # Whether a body may end before its Content-Length.
    attr_accessor :ignore_eof
    alias msg message

    def self.of(handle, request)
      status, version, message, headers = FoolsGold::Native.http_head(handle)
      code = status.to_s
      type_of(code).new(version, code, message, handle, headers, request)
    end

    def self.type_of(code) = CODE_TO_OBJ[code] || CODE_CLASS_TO_OBJ[code[0]] || HTTPUnknownResponse

    def initialize(version, code, message, handle = nil, headers = [], request = nil)
      @http_version = version
      @code = code
      @message = message
      @handle = handle
      @uri = request&.uri
      @decode_content = request&.decode_content
      @ignore_eof = true
      initialize_http_header(nil)
      headers.each { |name, value| add_field(name, value) }
      @has_body = self.class.body_permitted? && (request.nil? || request.response_body_permitted?) && !handle.nil?
    end

    # Returns the whole body, appended to `into` where that is given, or passes each piece to the block when it comes.
    def read_body(into = nil, &block)
      if @read
        raise IOError, "#{self.class}\#read_body called twice" if into || block
        return @body
      end
      if !@has_body
        release
      elsif block
        pieces(&block)
        @body = ""
      else
        @body = into ? into << whole : encoded(whole)
      end
      @read = true
      @body
    end

    def body = read_body
    alias entity body

    def body=(text)
      @body = text
      @read = true
    end

    # Raises an exception unless the status is a success (2xx).
    def value
      error! unless is_a?(HTTPSuccess)
    end

    # Raises the exception of the status, also of a success.
    def error!
      error = { "3" => HTTPRetriableError, "4" => HTTPClientException, "5" => HTTPFatalError }[@code[0]] || HTTPError
      raise error.new([@code, @message&.inspect].compact.join(" "), self)
    end

    def code_type = self.class
    def response = self
    def header = self
    def inspect = "#<#{self.class} #{@code} #{@message} readbody=#{@read ? true : false}>"

    private

    def whole
      text = ""
      pieces do |piece|
        text << piece
        next if text.bytesize <= HTTP::BODY_BYTES_MAX
        raise IOError, "the response has more than #{HTTP::BODY_BYTES_MAX} bytes: read_body { |piece| ... } takes them"
      end
      text.__binary!(true)
    end

    def encoded(text)
      encoding = @body_encoding == true ? type_params["charset"]&.delete("\"") : @body_encoding
      encoding ? text.force_encoding(encoding) : text
    end

    def pieces
      return if @handle.nil?
      inflate = inflater
      until (piece = next_piece).empty?
        piece = inflate.inflate(piece) if inflate
        yield piece.__binary!(true) unless piece.empty?
      end
      # A body that ends too early is a Zlib::BufError.
      inflate.finish if inflate && inflate.total_in > 0
      # That of the body which the application gets, since it may pass both on.
      self.content_length = inflate.total_out if inflate && key?("content-length")
    ensure
      inflate&.close
      release
    end

    # The next bytes of the body; an empty String at its end.
    def next_piece
      FoolsGold::Native.http_read(@handle)
    rescue EOFError
      raise unless @ignore_eof && key?("content-length") && !chunked?
      ""
    end

    def release
      FoolsGold::Native.handle_close(@handle) if @handle
      @handle = nil
    end

    # What decompresses the body; nil where nothing is to be done. A part of compressed bytes cannot be decompressed.
    def inflater
      return if !@decode_content || key?("content-range")
      case self["content-encoding"]&.downcase
      when "gzip", "x-gzip", "deflate"
        require "zlib"
        delete("content-encoding")
        Zlib::Inflate.new(32 + Zlib::MAX_WBITS)
      when "none", "identity"
        delete("content-encoding")
        nil
      end
    end

    class HTTPUnknownResponse < HTTPResponse; end
  end

  HTTPUnknownResponse = HTTPResponse::HTTPUnknownResponse

  class HTTPInformation < HTTPResponse
    HAS_BODY = false
  end
  class HTTPSuccess < HTTPResponse; end
  class HTTPRedirection < HTTPResponse; end
  class HTTPClientError < HTTPResponse; end
  class HTTPServerError < HTTPResponse; end

  class HTTPResponse
    CODE_CLASS_TO_OBJ = { "1" => HTTPInformation, "2" => HTTPSuccess, "3" => HTTPRedirection, "4" => HTTPClientError,
                          "5" => HTTPServerError }.freeze
    CODE_TO_OBJ = {}

    { 100 => :Continue, 101 => :SwitchProtocol, 102 => :Processing, 103 => :EarlyHints, 200 => :OK, 201 => :Created,
      202 => :Accepted, 203 => :NonAuthoritativeInformation, 204 => :NoContent, 205 => :ResetContent,
      206 => :PartialContent, 207 => :MultiStatus, 208 => :AlreadyReported, 226 => :IMUsed, 300 => :MultipleChoices,
      301 => :MovedPermanently, 302 => :Found, 303 => :SeeOther, 304 => :NotModified, 305 => :UseProxy,
      307 => :TemporaryRedirect, 308 => :PermanentRedirect, 400 => :BadRequest, 401 => :Unauthorized,
      402 => :PaymentRequired, 403 => :Forbidden, 404 => :NotFound, 405 => :MethodNotAllowed, 406 => :NotAcceptable,
      407 => :ProxyAuthenticationRequired, 408 => :RequestTimeout, 409 => :Conflict, 410 => :Gone,
      411 => :LengthRequired, 412 => :PreconditionFailed, 413 => :PayloadTooLarge, 414 => :URITooLong,
      415 => :UnsupportedMediaType, 416 => :RangeNotSatisfiable, 417 => :ExpectationFailed, 421 => :MisdirectedRequest,
      422 => :UnprocessableEntity, 423 => :Locked, 424 => :FailedDependency, 426 => :UpgradeRequired,
      428 => :PreconditionRequired, 429 => :TooManyRequests, 431 => :RequestHeaderFieldsTooLarge,
      451 => :UnavailableForLegalReasons, 500 => :InternalServerError, 501 => :NotImplemented, 502 => :BadGateway,
      503 => :ServiceUnavailable, 504 => :GatewayTimeout, 505 => :VersionNotSupported, 506 => :VariantAlsoNegotiates,
      507 => :InsufficientStorage, 508 => :LoopDetected, 510 => :NotExtended,
      511 => :NetworkAuthenticationRequired }.each do |code, name|
      code = code.to_s
      CODE_TO_OBJ[code] = Net.const_set("HTTP#{name}", Class.new(CODE_CLASS_TO_OBJ[code[0]]))
    end
    %w[204 205 304 305].each { |code| CODE_TO_OBJ[code].const_set(:HAS_BODY, false) }
  end

  HTTPMovedTemporarily = HTTPFound
  HTTPRequestEntityTooLarge = HTTPPayloadTooLarge
  HTTPGatewayTimeOut = HTTPGatewayTimeout
  HTTPRequestTimeOut = HTTPRequestTimeout

  class HTTP
    # Most bytes of a body that is read whole; read_body with a block has no limit.
    BODY_BYTES_MAX = 16 << 20
    # Methods that may be sent again after a failure (RFC 9110, section 9.2.2).
    IDEMPOTENT = %w[GET HEAD PUT DELETE OPTIONS TRACE].freeze
    # TLS 1.3 as min_version and max_version name it.
    TLS_1_3 = %w[TLS1_3 TLSv1_3 772].freeze
    # Variables that name a proxy.
    PROXY_VARIABLES = %w[http_proxy https_proxy HTTP_PROXY HTTPS_PROXY].freeze

    class << self
      def http_default_port = 80
      alias default_port http_default_port
      def https_default_port = 443

      def get(uri, path_or_headers = nil, port = nil)
        get_response(uri, path_or_headers, port).body
      end

      def get_response(uri, path_or_headers = nil, port = nil, &block)
        return start(uri, port || 80) { |http| http.request_get(path_or_headers, &block) } if uri.is_a?(String)
        of(uri) { |http| http.request_get(uri, path_or_headers, &block) }
      end

      def post(uri, data, headers = nil)
        of(uri) { |http| http.post(uri, data, headers) }
      end

      def post_form(uri, params)
        request = Post.new(uri)
        request.form_data = params
        request.basic_auth(uri.user, uri.password) if uri.user
        of(uri) { |http| http.request(request) }
      end

      def put(uri, data, headers = nil)
        of(uri) { |http| http.put(uri, data, headers) }
      end

      # Options may be a Hash at the end, in place of the port too.
      def start(address, *places, **options, &block)
        options = places.pop.merge(options) if places.last.is_a?(Hash)
        port, *proxy = places
        port ||= options[:use_ssl] ? 443 : 80
        http = new(address, port, *proxy)
        options.each { |name, value| http.__send__("#{name}=", value) if http.respond_to?("#{name}=") }
        http.start(&block)
      end

      private

      def of(uri, &block)
        start(uri.hostname, uri.port, use_ssl: uri.scheme == "https", &block)
      end
    end

    attr_reader :address, :port
    attr_accessor :use_ssl, :verify_mode, :ca_file, :open_timeout, :read_timeout, :write_timeout, :max_retries,
                  :keep_alive_timeout, :ssl_timeout, :continue_timeout, :verify_hostname, :close_on_empty_response,
                  :response_body_encoding, :cert_store, :ignore_eof
    attr_reader :min_version, :max_version, :ssl_version
    alias use_ssl? use_ssl

    # Settings that the client in Rust does not have: only nil, their default, is accepted.
    %i[local_host local_port ipaddr cert key extra_chain_cert ca_path ciphers verify_callback].each do |name|
      define_method(name) { nil }
      define_method(:"#{name}=") do |value|
        raise NotImplementedError, "Net::HTTP##{name}=: #{FoolsGold::HINT}" unless value.nil?
      end
    end

    # The client offers TLS 1.2 and 1.3, so a lower minimum is kept, and a higher maximum.
    def min_version=(version)
      refuse_versions("min_version", version) if TLS_1_3.include?(version.to_s)
      @min_version = version
    end

    def max_version=(version)
      refuse_versions("max_version", version) unless version.nil? || TLS_1_3.include?(version.to_s)
      @max_version = version
    end

    # Most applications that set it name TLS 1.2, as the least that they accept.
    def ssl_version=(version)
      refuse_versions("ssl_version", version) if TLS_1_3.include?(version.to_s)
      @ssl_version = version
    end

    # Without a proxy, that of http_proxy or https_proxy counts, unless no_proxy names the host; with nil there is none.
    def initialize(address, port = nil, proxy = :ENV, proxy_port = nil, proxy_user = nil, proxy_password = nil, *)
      raise ArgumentError, "no address given" unless address.is_a?(String) && !address.empty?
      @address = address
      @port = port || 80
      @proxy = :ENV if proxy == :ENV
      @proxy = named_proxy(proxy, proxy_port, [proxy_user, proxy_password]) if proxy.is_a?(String)
      @open_timeout = @read_timeout = @write_timeout = 60
      @max_retries = 1
      @ignore_eof = true
      @started = false
    end

    def start
      raise IOError, "HTTP session already opened" if @started
      @started = true
      return self unless block_given?
      begin
        yield self
      ensure
        @started = false
      end
    end

    def finish
      raise IOError, "HTTP session not yet started" unless @started
      @started = false
      nil
    end

    def started? = @started
    alias active? started?
    def proxy? = !proxy_url.nil?
    def set_debug_output(*) = nil

    # With a block, get, post and patch pass it the pieces of the body; `into` gets the whole body.
    def get(path, headers = nil, into = nil, &block)
      read_by(Get.new(path, headers), nil, into, block)
    end

    def post(path, data, headers = nil, into = nil, &block)
      read_by(Post.new(path, headers), data, into, block)
    end

    def patch(path, data, headers = nil, into = nil, &block)
      read_by(Patch.new(path, headers), data, into, block)
    end

    { head: :Head, delete: :Delete, options: :Options, trace: :Trace, copy: :Copy, move: :Move }.each do |name, type|
      define_method(name) { |path, headers = nil| request(HTTP.const_get(type).new(path, headers)) }
    end

    { put: :Put, proppatch: :Proppatch, lock: :Lock }.each do |name, type|
      define_method(name) do |path, data, headers = nil|
        request(HTTP.const_get(type).new(path, headers), data)
      end
    end

    def request_get(path, headers = nil, &block) = request(Get.new(path, headers), &block)
    def request_head(path, headers = nil, &block) = request(Head.new(path, headers), &block)
    def request_post(path, data, headers = nil, &block) = request(Post.new(path, headers), data, &block)
    def request_put(path, data, headers = nil, &block) = request(Put.new(path, headers), data, &block)
    alias get2 request_get
    alias head2 request_head
    alias post2 request_post
    alias put2 request_put

    def send_request(name, path, data = nil, headers = nil)
      request(GenericRequest.new(name, !data.nil?, name.to_s != "HEAD", path, headers), data)
    end

    # Sends a request and returns the response, with its body read unless a block does that.
    def request(request, body = nil)
      request.body = body if body
      # The body first, and once: it may set a Content-Type, and a stream can be read only once.
      body = request.whole_body
      tries = 0
      begin
        response = HTTPResponse.of(attempt(request, body), request)
        response.body_encoding = @response_body_encoding
        response.ignore_eof = @ignore_eof
        if block_given?
          # What the block has seen cannot come again.
          tries = @max_retries
          yield response
        end
        response.body
        response
      rescue ReadTimeout, WriteTimeout, EOFError, Errno::ECONNRESET, Errno::EPIPE, Errno::ECONNABORTED
        # As in CRuby. The server may have closed a kept connection at this very moment; only idempotent requests may be
        # sent twice.
        raise if tries >= @max_retries || !IDEMPOTENT.include?(request.method)
        tries += 1
        retry
      end
    end

    def inspect = "#<Net::HTTP #{@address}:#{@port} open=#{@started}>"

    private

    def read_by(asked, data, into, block)
      request(asked, data) { |response| response.read_body(into, &block) }
    end

    def attempt(request, body)
      url, proxy, bare = target(request.path)
      verify = @verify_mode != OpenSSL::SSL::VERIFY_NONE
      authorize(request, URI(proxy)) if proxy && !@use_ssl
      what = [request.method, url, request.pairs, body]
      times = [@open_timeout, @read_timeout, @write_timeout]
      file = certificates(verify) if @use_ssl
      FoolsGold.with_room { FoolsGold::Native.http_send(what, times, verify, file, proxy, bare) }
    rescue HTTPBadResponse => error
      # A proxy that opens no tunnel: the exception has its response, as in CRuby.
      answer_to_connect(error.message)&.value
      raise
    end

    # The response of a proxy that opens no tunnel, from the message of Rust's exception; nil for other exceptions.
    def answer_to_connect(message)
      first, line, *fields = message.split(/\r?\n/)
      return unless first == "the proxy answered CONNECT with"
      version, status, reason = %r{\AHTTP/(\d\.\d) (\d{3}) ?(.*)\z}.match(line)&.captures
      fields = fields.map { |field| field.split(":", 2).map(&:strip) }.select { |field| field.size == 2 }
      status && HTTPResponse.type_of(status).new(version, status, reason, nil, fields)
    end

    # The address of a request, its proxy, and whether the server gets the path without a slash in front. Where an
    # address stands in place of the path, the server gets it whole, as a proxy does and as in CRuby; with TLS it gets
    # the path alone. Other paths, such as "*", it gets as they are; a proxy would take them for a part of the host's
    # name.
    def target(path)
      here = "#{bracketed(@address)}:#{@port}"
      return [path, proxy_url || "http://#{here}", false] if !@use_ssl && path.match?(%r{\Ahttp://}i)
      path = path.sub(%r{\Ahttps?://[^/?#]*/?}i, "/")
      bare = !path.start_with?("/")
      ["#{@use_ssl ? "https" : "http"}://#{here}#{"/" if bare}#{path}", proxy_url, bare]
    end

    def bracketed(host) = host.include?(":") && !host.start_with?("[") ? "[#{host}]" : host

    def named_proxy(host, port, who)
      who = who.compact.map { |word| URI.encode_uri_component(word) }.join(":")
      "http://#{who}#{"@" unless who.empty?}#{bracketed(host)}:#{port || 80}"
    end

    # The address of the proxy; nil where there is none. As in CRuby, that of http_proxy is for https too, but one of
    # https_proxy comes first.
    def proxy_url
      return @proxy unless @proxy == :ENV
      return if PROXY_VARIABLES.none? { |name| ENV.key?(name) }
      (@use_ssl ? %w[https http] : %w[http]).each do |scheme|
        found = URI::HTTP.new(scheme, nil, bracketed(@address), @port, nil, nil, nil, nil, nil).find_proxy
        return found.to_s if found
      end
      nil
    end

    def refuse_versions(name, version)
      raise NotImplementedError, "Net::HTTP##{name}=(#{version.inspect}): the client offers TLS 1.2 and 1.3, and not " \
                                 "one alone. #{FoolsGold::HINT}"
    end

    # Without a tunnel the proxy reads the headers of the request.
    def authorize(request, proxy)
      request.proxy_basic_auth(proxy.decoded_user, proxy.decoded_password) if proxy.user
    end

    # The file of the certificates that are trusted; nil for those of the machine.
    def certificates(verify)
      return @ca_file if @ca_file
      trusted = @cert_store ? @cert_store.__trusted : true
      if verify && trusted.nil?
        raise OpenSSL::SSL::SSLError, "certificate verify failed: there are no certificates in the cert_store"
      end
      trusted.is_a?(String) ? trusted : ENV["SSL_CERT_FILE"]
    end
  end
end
