# URI::Generic: its text, comparison, and relative references.

module URI
  class Generic
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
      @path = "/" if @path && @path.empty? && @host
      @host = @host.downcase if @host
      self
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

    def merge!(other)
      replace(merge(other))
    end

    def __take(other)
      @fragment = other.fragment
      return __take_all(other) if other.host
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
      @path, @query = plain(other.path), other.query
      self
    end

    # The relative reference that leads from another URI to this one.
    def route_from(other)
      other = URI.parse(other) unless other.is_a?(Generic)
      raise BadURIError, "relative URI: #{self}" if relative?
      return dup if other.scheme != @scheme
      # Another host: a reference that begins with "//".
      return dup.__without_scheme if [other.host, other.port, other.userinfo] != [@host, @port, userinfo]
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
      text.empty? ? "./" : text
    end

    def replace(other)
      %i[@scheme @user @password @host @port @path @opaque @query @fragment].each do |name|
        instance_variable_set(name, other.instance_variable_get(name))
      end
      self
    end
  end
end
