# Classes of URIs for schemes: http, https, ws, wss, ftp, file and mailto.

module URI
  # The methods that URI::HTTP and URI::WS share.
  module Requested
    # Path and query for the request line of HTTP.
    def request_uri
      return nil unless @path
      path = @path.start_with?("/") ? @path : "/#{@path}"
      @query ? "#{path}?#{@query}" : path
    end
  end

  class HTTP < Generic
    include Requested

    DEFAULT_PORT = 80
    COMPONENT = %i[scheme userinfo host port path query fragment].freeze

    def default_scheme = "http"
    def authority = "#{@host}#{shown_port}"
    def origin = "#{@scheme}://#{authority}"
  end

  class HTTPS < HTTP
    DEFAULT_PORT = 443
    def default_scheme = "https"
  end

  class WS < Generic
    include Requested

    DEFAULT_PORT = 80
    COMPONENT = %i[scheme userinfo host port path query].freeze

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
      # The host of a file on this machine is empty, also if the URI names it as localhost.
      @host = "" if @host.nil? || @host == "localhost"
    end

    def default_scheme = "file"
  end

  class MailTo < Generic
    COMPONENT = %i[scheme to headers].freeze
    LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?".freeze
    # A valid e-mail address as the HTML Standard defines it. Many applications check input with this pattern.
    EMAIL_REGEXP = /\A[a-zA-Z0-9.!\#$%&'*+\/=?^_`{|}~-]+@#{LABEL}(?:\.#{LABEL})*\z/
    attr_reader :to, :headers

    def self.build(args)
      to, headers = args.is_a?(Hash) ? [args[:to], args[:headers]] : args
      to = to.join(",") if to.is_a?(Array)
      headers = headers.map { |pair| pair.is_a?(Array) ? pair.join("=") : pair }.join("&") if headers.respond_to?(:each)
      new("mailto", nil, nil, nil, nil, nil, headers.to_s.empty? ? to : "#{to}?#{headers}", nil, nil)
    end

    def initialize(*args)
      super
      @opaque = "?#{@query}" if @query && !@opaque
      @to, headers = @opaque.to_s.split("?", 2)
      @to ||= ""
      # Not decoded, as in CRuby: to_mailtext decodes them.
      @headers = headers.to_s.split("&").map { |pair| pair.split("=", 2) }
      addresses = @to.split(/[,;]/).map { |one| URI.decode_uri_component(one) }
      return if addresses.all? { |one| /\A[^@\s]+@[^@\s]+\z/.match?(one) }
      raise InvalidComponentError, "unrecognised opaque part for mailtoURL: #{@opaque}"
    end

    # The beginning of a mail: its headers and its text.
    def to_mailtext
      fields = @headers.map { |pair| pair.map { |part| URI.decode_www_form_component(part) } }
      body = fields.reverse.assoc("body")&.last
      others = fields.filter_map { |name, value| value if name == "to" }
      head = fields.filter_map { |name, value| "#{name.capitalize}: #{value}\n" unless name == "to" || name == "body" }
      to = [URI.decode_www_form_component(@to), *others].join(", ")
      "To: #{to}\n#{head.join}\n#{body}\n"
    end
    alias to_rfc822text to_mailtext

    def default_scheme = "mailto"
  end
end
