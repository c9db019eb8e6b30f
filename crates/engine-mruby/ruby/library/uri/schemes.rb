# Classes of URIs for schemes: http, https, ws, wss, ftp, file and mailto.

module URI
  class HTTP < Generic
    DEFAULT_PORT = 80
    COMPONENT = %i[scheme userinfo host port path query fragment].freeze

    def default_scheme = "http"

    # Path and query for the request line of HTTP.
    def request_uri
      return nil unless @path
      path = @path.start_with?("/") ? @path : "/#{@path}"
      @query ? "#{path}?#{@query}" : path
    end

    def authority = "#{@host}#{shown_port}"
    def origin = "#{@scheme}://#{authority}"
  end

  class HTTPS < HTTP
    DEFAULT_PORT = 443
    def default_scheme = "https"
  end

  class WS < HTTP
    def default_scheme = "ws"
  end

  class WSS < WS
    DEFAULT_PORT = 443
    def default_scheme = "wss"
  end

  class FTP < Generic
    DEFAULT_PORT = 21
    COMPONENT = %i[scheme userinfo host port path typecode].freeze
    attr_reader :typecode

    def initialize(*args)
      super
      @path, @typecode = @path.split(";type=", 2) if @path&.include?(";type=")
    end

    def default_scheme = "ftp"
    # RFC 1738, section 3.2.2: the path is relative to the user's folder, unless it begins with an escaped slash.
    def path = @path.delete_prefix("/").sub(/\A%2F/i, "/")
    def to_s = @typecode ? "#{super};type=#{@typecode}" : super
  end

  class File < Generic
    COMPONENT = %i[scheme host path].freeze

    def initialize(*args)
      super
      @host ||= ""
    end

    def default_scheme = "file"
  end

  class MailTo < Generic
    COMPONENT = %i[scheme to headers].freeze
    attr_reader :to, :headers

    def self.build(args)
      to, headers = args.is_a?(Hash) ? [args[:to], args[:headers]] : args
      headers = headers.map { |pair| pair.is_a?(Array) ? pair.join("=") : pair }.join("&") if headers.is_a?(Array)
      new("mailto", nil, nil, nil, nil, nil, headers ? "#{to}?#{headers}" : to, nil, nil)
    end

    def initialize(*args)
      super
      @to, headers = @opaque.to_s.split("?", 2)
      @to ||= ""
      @headers = headers ? URI.decode_www_form(headers).map { |pair| pair } : []
      return if @to.empty? || @to.split(",").all? { |one| /\A[^@\s]+@[^@\s]+\z/.match?(URI.decode_uri_component(one)) }
      raise InvalidComponentError, "unrecognised opaque part for mailtoURL: #{@opaque}"
    end

    def default_scheme = "mailto"
  end
end
