# Requests of Net::HTTP, one class for each method.

module Net
  class HTTPGenericRequest
    include HTTPHeader

    attr_reader :method, :path, :uri
    attr_accessor :body, :body_stream

    def initialize(method, has_request_body, has_response_body, where, headers = nil)
      @method = method.to_s.upcase
      @has_request_body = has_request_body
      @has_response_body = has_response_body
      @uri = where unless where.is_a?(String)
      @path = @uri ? @uri.request_uri : where
      raise ArgumentError, "no HTTP request path given" if @path.nil? || @path.empty?
      raise ArgumentError, "HTTP request path is not absolute: #{@path}" unless @path.start_with?("/")
      initialize_http_header(headers)
      self["accept"] ||= "*/*"
      self["user-agent"] ||= "Ruby"
      self["host"] ||= @uri.authority.split("@").last if @uri
    end

    def request_body_permitted? = @has_request_body
    def response_body_permitted? = @has_response_body

    # The body to send.
    def whole_body
      text = @body_stream ? @body_stream.read : @body
      text &&= text.to_s
      self.content_type = "application/x-www-form-urlencoded" if text && !key?("content-type")
      # The Rust client sets Content-Length.
      delete("content-length")
      delete("transfer-encoding")
      text
    end

    # Sets the fields of a form, some of which may be files: [["name", "value"], ["file", io, { filename: "a.txt" }]].
    def set_form(params, type = "application/x-www-form-urlencoded", _options = {})
      return set_form_data(params) unless type == "multipart/form-data"
      boundary = "----FoolsGold#{SecureRandom.hex(12)}"
      parts = params.map { |name, value, options| part(name, value, options || {}) }
      @body = "--#{boundary}\r\n" + parts.join("\r\n--#{boundary}\r\n") + "\r\n--#{boundary}--\r\n"
      self["content-type"] = "multipart/form-data; boundary=#{boundary}"
    end

    def inspect = "#<#{self.class} #{@method}>"

    private

    def part(name, value, options)
      file = options[:filename] || (value.respond_to?(:path) && File.basename(value.path))
      head = "content-disposition: form-data; name=\"#{name}\"#{"; filename=\"#{file}\"" if file}"
      type = options[:content_type] || (file && "application/octet-stream")
      head += "\r\ncontent-type: #{type}" if type
      "#{head}\r\n\r\n#{value.respond_to?(:read) ? value.read : value}"
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
end
