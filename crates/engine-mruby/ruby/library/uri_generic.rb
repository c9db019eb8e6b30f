# URI::Generic: the components of a URI, which are checked when they are set.

module URI
  class Generic
    DEFAULT_PORT = nil
    COMPONENT = %i[scheme userinfo host port registry path opaque query fragment].freeze

    class << self
      def default_port = self::DEFAULT_PORT
      def component = self::COMPONENT

      # A URI from an Array or Hash of its components.
      def build(args)
        unless args.respond_to?(:to_ary) || args.is_a?(Hash)
          raise ArgumentError, "expected Array of or Hash of components of #{self} (#{component.join(', ')})"
        end
        names = self == Generic ? component : component.drop(1)
        named = args.is_a?(Hash) ? args : names.zip(args.to_ary).to_h
        made = new(nil, nil, nil, nil, nil, nil, nil, nil, nil)
        made.__build(named)
      end
      alias build2 build
    end

    attr_reader :scheme, :host, :port, :path, :query, :fragment, :opaque, :user, :password

    # Nothing is checked here: the parser has done that, and `build` sets the components one by one.
    def initialize(scheme, userinfo, host, port, _registry, path, opaque, query, fragment, _parser = nil, check = false)
      @scheme = scheme&.downcase
      @user, @password = userinfo&.split(":", 2)
      @host = host
      @path = path || (opaque ? nil : "")
      @opaque = opaque
      @query = query
      @fragment = fragment
      @port = port ? port.to_i : default_port
    end

    def __build(named)
      scheme = named[:scheme] || default_scheme
      @scheme = nil
      self.scheme = scheme if scheme
      @port = default_port
      %i[userinfo host port path opaque query fragment].each do |name|
        __send__(:"#{name}=", named[name]) if named[name]
      end
      self
    end

    def default_scheme = nil
    def default_port = self.class.default_port
    def component = self.class.component
    def registry = nil
    def parser = DEFAULT_PARSER
    def userinfo = @user && (@password ? "#{@user}:#{@password}" : @user)
    def hostname = @host && @host.start_with?("[") && @host.end_with?("]") ? @host[1...-1] : @host
    def absolute? = !@scheme.nil?
    alias absolute absolute?
    def relative? = @scheme.nil?
    def hierarchical? = @opaque.nil?
    def authority = @host && "#{userinfo && "#{userinfo}@"}#{@host}#{shown_port}"
    def find_proxy(*) = nil
    def decoded_user = @user && URI.decode_uri_component(@user)
    def decoded_password = @password && URI.decode_uri_component(@password)

    def scheme=(text)
      @scheme = checked(text, /\A[A-Za-z][-+.A-Za-z\d]*\z/, "scheme")&.downcase
    end

    def userinfo=(text)
      user, password = text.is_a?(Array) ? text : text&.split(":", 2)
      self.user = user
      self.password = password if password
    end

    def user=(text)
      @user = checked(text, /\A(?:[-!$&'()*+,.0-9;=A-Z_a-z~]|%\h\h)*\z/, "user")
    end

    def password=(text)
      raise InvalidURIError, "password component depends user component" if text && @user.nil?
      @password = checked(text, /\A(?:[-!$&'()*+,.0-9:;=A-Z_a-z~]|%\h\h)*\z/, "password")
    end

    def host=(text)
      @host = checked(text, /\A(?:\[[\h:.]+\]|(?:[-!$&'()*+,.0-9;=A-Z_a-z~]|%\h\h)*)\z/, "host")
    end

    def hostname=(text)
      self.host = (text&.include?(":") && !text.start_with?("[")) ? "[#{text}]" : text
    end

    def port=(number)
      checked(number.to_s, /\A\d*\z/, "port") unless number.nil? || number.is_a?(Integer)
      @port = number.nil? || number == "" ? nil : number.to_i
    end

    def path=(text)
      raise InvalidURIError, "path conflicts with opaque" if @opaque
      if @scheme && text && !text.empty? && !text.start_with?("/")
        raise InvalidComponentError, "bad component(expected path component): #{text}"
      end
      @path = checked(text, %r{\A(?:[-!$&'()*+,./0-9:;=@A-Z_a-z~]|%\h\h)*\z}, "path")
    end

    # Characters that a query must not have are escaped.
    def query=(text)
      raise InvalidURIError, "query conflicts with opaque" if text && @opaque
      @query = text && text.to_str.delete("\t\r\n").gsub(%r{(?!%\h\h)[^!$-&(-;=?-_a-~/]}) { |char| escaped(char) }
    end

    def fragment=(text)
      @fragment = text && text.to_str.delete("\t\r\n").gsub(%r{(?!%\h\h)[^!$-;=?-Z_a-z~/]}) { |char| escaped(char) }
    end

    def opaque=(text)
      raise InvalidURIError, "can not set opaque with host, port, user or path" if text && (@host || !@path.to_s.empty?)
      @path = nil if text
      @opaque = text
    end

    FoolsGold.run_library("foolsgold/uri_merge")

    private

    def checked(text, form, name)
      return nil if text.nil?
      return text if form.match?(text)
      shown = name == "port" ? text.inspect : text
      raise InvalidComponentError, "bad component(expected #{name} component): #{shown}"
    end

    def escaped(char) = char.each_byte.map { |byte| format("%%%02X", byte) }.join
    def shown_port = @port && @port != default_port ? ":#{@port}" : ""
  end
end
