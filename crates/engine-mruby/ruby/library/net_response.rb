# Responses of Net::HTTP: a class for each status, and reading of the body.

module Net
  class HTTPResponse
    include HTTPHeader

    attr_reader :code, :message, :http_version, :uri
    alias msg message

    def self.of(handle, request)
      status, version, message, headers = FoolsGold::Native.http_head(handle)
      type = CODES[status] || KINDS[status / 100] || HTTPUnknownResponse
      type.new(version, status.to_s, message, handle, headers, request)
    end

    def initialize(version, code, message, handle = nil, headers = [], request = nil)
      @http_version = version
      @code = code
      @message = message
      @handle = handle
      @uri = request&.uri
      initialize_http_header(nil)
      headers.each { |name, value| add_field(name, value) }
      @body = "" if handle.nil? || (request && !request.response_body_permitted?)
    end

    # Returns the whole body, or passes each piece to the block when it comes.
    def read_body(into = nil)
      if block_given?
        raise IOError, "#{self.class}\#read_body called twice" if @body
        pieces { |piece| yield piece }
        @body = ""
      end
      @body ||= whole
      into ? into << @body : @body
    end

    def body = read_body
    alias entity body

    def body=(text)
      @body = text
    end

    # Raises an exception unless the status is a success (2xx).
    def value
      return nil if is_a?(HTTPSuccess)
      error = { "3" => HTTPRetriableError, "4" => HTTPClientException, "5" => HTTPFatalError }[@code[0]] || HTTPError
      raise error.new("#{@code} #{@message.inspect}", self)
    end
    alias error! value

    def code_type = self.class
    def response = self
    def header = self
    def inspect = "#<#{self.class} #{@code} #{@message} readbody=#{!@body.nil?}>"

    private

    def whole
      text = ""
      pieces do |piece|
        text << piece
        next if text.bytesize <= HTTP::BODY_BYTES_MAX
        raise IOError, "the response has more than #{HTTP::BODY_BYTES_MAX} bytes: read_body { |piece| ... } takes them"
      end
      text
    end

    def pieces
      return if @handle.nil?
      until (piece = FoolsGold::Native.http_read(@handle)).empty?
        yield piece
      end
    ensure
      FoolsGold::Native.handle_close(@handle) if @handle
      @handle = nil
    end

    class HTTPUnknownResponse < HTTPResponse; end
  end

  HTTPUnknownResponse = HTTPResponse::HTTPUnknownResponse
  class HTTPInformation < HTTPResponse; end
  class HTTPSuccess < HTTPResponse; end
  class HTTPRedirection < HTTPResponse; end
  class HTTPClientError < HTTPResponse; end
  class HTTPServerError < HTTPResponse; end

  class HTTPResponse
    KINDS = [nil, HTTPInformation, HTTPSuccess, HTTPRedirection, HTTPClientError, HTTPServerError].freeze
    CODES = {}

    { 100 => :Continue, 101 => :SwitchProtocol, 103 => :EarlyHints, 200 => :OK, 201 => :Created, 202 => :Accepted,
      203 => :NonAuthoritativeInformation, 204 => :NoContent, 205 => :ResetContent, 206 => :PartialContent,
      207 => :MultiStatus, 300 => :MultipleChoices, 301 => :MovedPermanently, 302 => :Found, 303 => :SeeOther,
      304 => :NotModified, 305 => :UseProxy, 307 => :TemporaryRedirect, 308 => :PermanentRedirect, 400 => :BadRequest,
      401 => :Unauthorized, 402 => :PaymentRequired, 403 => :Forbidden, 404 => :NotFound, 405 => :MethodNotAllowed,
      406 => :NotAcceptable, 407 => :ProxyAuthenticationRequired, 408 => :RequestTimeout, 409 => :Conflict,
      410 => :Gone, 411 => :LengthRequired, 412 => :PreconditionFailed, 413 => :PayloadTooLarge, 414 => :URITooLong,
      415 => :UnsupportedMediaType, 416 => :RangeNotSatisfiable, 417 => :ExpectationFailed, 421 => :MisdirectedRequest,
      422 => :UnprocessableEntity, 423 => :Locked, 424 => :FailedDependency, 426 => :UpgradeRequired,
      428 => :PreconditionRequired, 429 => :TooManyRequests, 431 => :RequestHeaderFieldsTooLarge,
      451 => :UnavailableForLegalReasons, 500 => :InternalServerError, 501 => :NotImplemented, 502 => :BadGateway,
      503 => :ServiceUnavailable, 504 => :GatewayTimeout, 505 => :VersionNotSupported, 507 => :InsufficientStorage,
      508 => :LoopDetected, 511 => :NetworkAuthenticationRequired }.each do |code, name|
      CODES[code] = Net.const_set("HTTP#{name}", Class.new(KINDS[code / 100]))
    end
  end

  HTTPMovedTemporarily = HTTPFound
  HTTPRequestEntityTooLarge = HTTPPayloadTooLarge
  HTTPGatewayTimeOut = HTTPGatewayTimeout
  HTTPRequestTimeOut = HTTPRequestTimeout
end
