# Net::HTTP over a client in Rust (ruby-data/src/http/), which keeps connections for the next request. A call ends at
# the deadline of the request that makes it (--request-time) at the latest.

%w[header errors request response].each { |part| FoolsGold::Loader.library("foolsgold/net_#{part}") }

module Net
  class HTTP
    # Most bytes of a body that is read whole; read_body with a block has no limit.
    BODY_BYTES_MAX = 16 << 20
    # Methods that may be sent again after a failure (RFC 9110, section 9.2.2).
    IDEMPOTENT = %w[GET HEAD PUT DELETE OPTIONS TRACE].freeze

    class << self
      def http_default_port = 80
      alias default_port http_default_port
      def https_default_port = 443

      def get(uri, path_or_headers = nil, port = nil)
        get_response(uri, path_or_headers, port).body
      end

      def get_response(uri, path_or_headers = nil, port = nil, &block)
        return start(uri, port || 80) { |http| http.request_get(path_or_headers, &block) } if uri.is_a?(String)
        of(uri) { |http| http.request_get(uri.request_uri, path_or_headers, &block) }
      end

      def post(uri, data, headers = nil)
        of(uri) { |http| http.post(uri.request_uri, data, headers) }
      end

      def post_form(uri, params)
        request = Post.new(uri)
        request.form_data = params
        request.basic_auth(uri.user, uri.password) if uri.user
        of(uri) { |http| http.request(request) }
      end

      def put(uri, data, headers = nil)
        of(uri) { |http| http.put(uri.request_uri, data, headers) }
      end

      def start(address, port = nil, *proxy, **options, &block)
        options = proxy.pop.merge(options) if proxy.last.is_a?(Hash)
        port ||= options[:use_ssl] ? 443 : 80
        http = new(address, port)
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
                  :keep_alive_timeout, :ssl_timeout, :continue_timeout, :verify_hostname, :min_version, :max_version,
                  :close_on_empty_response, :local_host, :response_body_encoding
    alias use_ssl? use_ssl

    # The proxy is that of http_proxy or https_proxy, unless no_proxy names the host.
    def initialize(address, port = nil, *)
      raise ArgumentError, "no address given" unless address.is_a?(String) && !address.empty?
      @address = address
      @port = port || 80
      @open_timeout = @read_timeout = @write_timeout = 60
      @max_retries = 1
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
    def proxy? = false
    def set_debug_output(*) = nil

    { get: :Get, head: :Head, delete: :Delete, options: :Options, trace: :Trace, copy: :Copy,
      move: :Move }.each do |name, type|
      define_method(name) do |path, headers = nil, &block|
        response = request(HTTP.const_get(type).new(path, headers))
        block ? response.read_body(&block) && response : response
      end
    end

    { post: :Post, put: :Put, patch: :Patch, proppatch: :Proppatch, lock: :Lock }.each do |name, type|
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
      request(GenericRequest.new(name, !data.nil?, true, path, headers), data)
    end

    # Sends a request and returns the response, with its body read unless a block does that.
    def request(request, body = nil)
      request.body = body if body
      handle = attempt(request)
      response = HTTPResponse.of(handle, request)
      yield response if block_given?
      response.body
      response
    end

    def inspect = "#<Net::HTTP #{@address}:#{@port} open=#{@started}>"

    private

    def attempt(request, tries = 0)
      scheme = @use_ssl ? "https" : "http"
      host = @address.include?(":") && !@address.start_with?("[") ? "[#{@address}]" : @address
      url = "#{scheme}://#{host}:#{@port}#{request.path}"
      verify = @verify_mode != OpenSSL::SSL::VERIFY_NONE
      what = [request.method, url, request.pairs, request.whole_body]
      times = [@open_timeout, @read_timeout, @write_timeout]
      FoolsGold.with_room { FoolsGold::Native.http_send(what, times, verify, @ca_file || ENV["SSL_CERT_FILE"]) }
    rescue EOFError, Errno::ECONNRESET, Errno::EPIPE, Errno::ECONNABORTED
      # The server may have closed a kept connection at this very moment; only idempotent requests may be sent twice.
      raise if tries >= @max_retries || !IDEMPOTENT.include?(request.method)
      attempt(request, tries + 1)
    end
  end
end
