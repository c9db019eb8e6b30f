# URI::Generic: the components of a URI, which are checked when they are set; its text, comparison, and relative
# references.

module URI
  class Generic
    # So that every URI is_a?(URI).
    include URI

    DEFAULT_PORT = nil
    COMPONENT = %i[scheme userinfo host port registry path opaque query fragment].freeze
    # A query in which nothing has to be escaped. An apostrophe has to be, as in CRuby.
    PLAIN_QUERY = %r{\A(?:[-!$&()*+,./0-9:;=?@A-Z_a-z~]|%\h\h)*\z}

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

    # Nothing but the query is checked here: the parser has done that, and `build` sets the components one by one.
    def initialize(scheme, userinfo, host, port, _registry, path, opaque, query, fragment, _parser = nil, check = false)
      @scheme = scheme&.downcase
      @user, @password = userinfo&.split(":", 2)
      @host = host
      @path = path || (opaque ? nil : "")
      @opaque = opaque
      @query = query
      self.query = query unless query.nil? || PLAIN_QUERY.match?(query)
      @fragment = fragment
      @port = port ? port.to_i : default_port
    end

    def __build(named)
      scheme = named[:scheme] || default_scheme
      @scheme = nil
      self.scheme = scheme if scheme
      @port = default_port
      # The userinfo comes after host and port, whose setters remove it.
      %i[host port userinfo path opaque query fragment].each do |name|
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
    def decoded_user = @user && URI.decode_uri_component(@user)
    def decoded_password = @password && URI.decode_uri_component(@password)

    def scheme=(text)
      @scheme = checked(text, /\A[A-Za-z][-+.A-Za-z\d]*\z/, "scheme")&.downcase
    end

    # nil changes nothing, as in CRuby.
    def userinfo=(text)
      return if text.nil?
      user, password = text.is_a?(Array) ? text : text.split(":", 2)
      self.user = user
      self.password = password if password
    end

    # A new user removes the password, and a new host or port removes both, so that no other user or server gets them.
    def user=(text)
      @user = checked(text, /\A(?:[-!$&'()*+,.0-9;=A-Z_a-z~]|%\h\h)*\z/, "user")
      @password = nil
    end

    def password=(text)
      raise InvalidURIError, "password component depends user component" if text && @user.nil?
      @password = checked(text, /\A(?:[-!$&'()*+,.0-9:;=A-Z_a-z~]|%\h\h)*\z/, "password")
    end

    def host=(text)
      @host = checked(text, /\A(?:\[[\h:.]+\]|(?:[-!$&'()*+,.0-9;=A-Z_a-z~]|%\h\h)*)\z/, "host")
      @user = @password = nil
    end

    def hostname=(text)
      self.host = (text&.include?(":") && !text.start_with?("[")) ? "[#{text}]" : text
    end

    def port=(number)
      checked(number.to_s, /\A\d*\z/, "port") unless number.nil? || number.is_a?(Integer)
      @port = number.nil? || number == "" ? nil : number.to_i
      @user = @password = nil
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
      bad = text && text.to_str[/%\H\H/]
      raise InvalidURIError, "invalid percent escape: #{bad}" if bad
      @query = text && text.to_str.delete("\t\r\n").gsub(%r{(?!%\h\h)[^!$-&(-;=?-_a-~/]}) { |char| escaped(char) }
    end

    def fragment=(text)
      @fragment = text && text.to_str.delete("\t\r\n").gsub(/[^!-~]/) { |char| escaped(char) }
    end

    def opaque=(text)
      raise InvalidURIError, "can not set opaque with host, port, user or path" if text && (@host || !@path.to_s.empty?)
      @path = nil if text
      @opaque = text
    end

    def to_s
      text = @scheme ? "#{@scheme}:" : ""
      if @opaque
        text += @opaque
      else
        text += "//" if @host || @scheme == "file"
        text += "#{userinfo}@" if @user
        text += "#{@host}#{shown_port}" if @host
        text += "/" if @host && !@path.empty? && !@path.start_with?("/")
        text += @path
        text += "?#{@query}" if @query
      end
      @fragment ? "#{text}##{@fragment}" : text
    end
    alias to_str to_s

    def inspect = "#<#{self.class} #{self}>"
    def ==(other) = other.is_a?(Generic) && self.class == other.class && normalize.__parts == other.normalize.__parts
    def eql?(other) = self.class == other.class && __parts == other.__parts
    def hash = __parts.hash
    def __parts = [@scheme, userinfo, @host, @port, @path, @opaque, @query, @fragment]
    def component_ary = component.map { |name| respond_to?(name) ? __send__(name) : nil }

    def select(*names)
      names.each do |name|
        next if component.include?(name)
        raise ArgumentError, "expected of components of #{self.class} (#{component.join(', ')})"
      end
      names.map { |name| __send__(name) }
    end

    def normalize = dup.normalize!

    def normalize!
      @path = "/" if @path && @path.empty?
      @host = @host.downcase if @host
      self
    end

    # The proxy that http_proxy or https_proxy names for this scheme, as a URI. None for this machine itself, and for a
    # host that no_proxy names. Of a variable in small and in large letters, the small ones count.
    def find_proxy(env = ENV)
      raise BadURIError, "relative URI: #{self}" if relative?
      found = variable(env, "#{@scheme}_proxy")
      return if found.empty? || hostname.to_s.empty? || loopback?
      return if variable(env, "no_proxy").downcase.split(/[\s,]+/).any? { |word| excepted?(word) }
      URI.parse(found.include?("://") ? found : "http://#{found}")
    end

    # Resolves a reference relative to this URI: RFC 3986, section 5.2.
    def merge(other)
      other = other.is_a?(Generic) ? other : URI.parse(other)
      return other.dup if other.absolute?
      raise BadURIError, "both URI are relative" if relative?
      made = dup
      made.__take(other)
    end
    alias + merge

    # Changes this URI; nil where the reference leads to itself.
    def merge!(other)
      made = merge(other)
      self == made ? nil : replace(made)
    end

    def __take(other)
      # As in CRuby, an empty reference is the base itself, with its fragment.
      return self if other.to_s.empty?
      @fragment = other.fragment
      return __take_all(other) if other.host
      # A URI such as mailto:a@b has no path to which another one could be relative.
      return self if @opaque
      if other.path.to_s.empty?
        @query = other.query if other.query
        return self
      end
      @query = other.query
      @path = plain(other.path.start_with?("/") ? other.path : beside(other.path))
      self
    end

    # A reference with a host keeps only the scheme of the base.
    def __take_all(other)
      @user, @password, @host = other.user, other.password, other.host
      @port = other.port || default_port
      @path, @query = other.path, other.query
      self
    end

    # The relative reference that leads from another URI to this one.
    def route_from(other)
      other = URI.parse(other) unless other.is_a?(Generic)
      [self, other].each { |uri| raise BadURIError, "relative URI: #{uri}" if uri.relative? }
      return dup if other.scheme != @scheme
      hosts = [@host, other.host].map { |host| host.to_s.downcase }
      # Another host: a reference that begins with "//".
      return dup.__without_scheme if hosts.uniq.size > 1 || [other.port, other.userinfo] != [@port, userinfo]
      made = Generic.new(nil, nil, nil, nil, nil, relative(@path, other.path), nil, @query, @fragment)
      made.__fill(self, other)
    end
    alias - route_from

    def __without_scheme
      @scheme = nil
      self
    end

    def route_to(other) = (other.is_a?(Generic) ? other : URI.parse(other)).route_from(self)

    # An empty path refers to the base itself, whose query must not be repeated; where the paths differ it needs "./".
    def __fill(target, base)
      return self unless @path.empty?
      @query = nil if target.query == base.query
      @path = "./" if @query.nil? && @fragment.nil? && target.path != base.path
      self
    end

    def coerce(other) = [other.is_a?(String) ? URI.parse(other) : other, self]

    private

    def variable(env, name) = [env[name], env[name.upcase]].find { |text| text && !text.empty? }.to_s

    def loopback? = %w[localhost ::1].include?(hostname.downcase) || /\A127\.[\d.]+\z/.match?(hostname)

    # Whether a word of no_proxy names the host: by its name, by a domain above it, as an address in a network, or as
    # "*". With a port, it names the host on that port alone.
    def excepted?(word)
      name, only = word.count(":") == 1 ? word.split(":") : [word, nil]
      return false if name.to_s.empty? || (only && only.to_i != port)
      host, domain = hostname.downcase, name.delete_prefix("*")
      return true if domain.empty? || host == domain
      return true if host.end_with?(domain.start_with?(".") ? domain : ".#{domain}")
      /\A[\d.]+\z|:/.match?(host) && in_network?(name, host)
    end

    def in_network?(network, address)
      FoolsGold::Loader.library("ipaddr")
      IPAddr.new(network).include?(address)
    rescue IPAddr::Error
      false
    end

    def beside(path)
      return "/#{path}" if @path.empty?
      @path[0..@path.rindex("/")] + path
    end

    # The path without `.` and `..`: RFC 3986, section 5.2.4.
    def plain(path)
      kept = []
      parts = path.split("/", -1)
      parts.each_with_index do |part, at|
        last = at == parts.size - 1
        case part
        # A final dot segment leaves a slash at the end.
        when "." then kept << "" if last
        when ".."
          kept.pop if kept.size > 1 || kept.first != ""
          kept << "" if last
        else kept << part
        end
      end
      text = kept.join("/")
      path.start_with?("/") && !text.start_with?("/") ? "/#{text}" : text
    end

    def relative(path, base)
      return "" if path == base
      left, right = path.split("/", -1), base.split("/", -1)
      # The last segment of the base is a file, not a folder.
      right.pop
      while !right.empty? && left.size > 1 && left.first == right.first
        left.shift
        right.shift
      end
      text = (right.map { ".." } + left).join("/")
      # A colon in the first segment would read as a scheme.
      text.empty? || (right.empty? && left.first.include?(":")) ? "./#{text}" : text
    end

    def replace(other)
      %i[@scheme @user @password @host @port @path @opaque @query @fragment].each do |name|
        instance_variable_set(name, other.instance_variable_get(name))
      end
      self
    end

    def checked(text, form, name)
      return nil if text.nil?
      return text if form.match?(text)
      # Messages get into logs, and so this one leaves out the password.
      raise InvalidComponentError, "bad password component" if name == "password"
      shown = name == "port" ? text.inspect : text
      raise InvalidComponentError, "bad component(expected #{name} component): #{shown}"
    end

    def escaped(char) = char.each_byte.map { |byte| format("%%%02X", byte) }.join
    def shown_port = @port && @port != default_port ? ":#{@port}" : ""
  end
end
