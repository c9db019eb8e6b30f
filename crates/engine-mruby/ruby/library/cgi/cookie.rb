# CGI::Cookie: a cookie with its values and attributes. CRuby's class is a subclass of Array; in mruby an Array has no
# instance variables, so this class has the methods of one instead.

class CGI
  class Cookie
    include Enumerable

    attr_reader :name, :path, :domain, :secure, :httponly
    attr_accessor :expires

    TOKEN = /\A[!#-'*+\-.0-9A-Z^_`a-z|~]+\z/
    PATH = /\A[ -:<-~]*\z/
    DOMAIN = /\A\.?(?<label>(?!-)[-A-Za-z0-9]+(?<!-))(?:\.\g<label>)*\z/

    # The cookies of a Cookie header, by name; [] for a name that is not there.
    def self.parse(raw)
      found = Hash.new([])
      return found unless raw
      raw.split(/;\s?/).each do |pair|
        name, values = pair.split("=", 2)
        next unless name && values
        values = values.split("&").map { |value| CGI.unescape(value) }
        found.key?(name) ? found[name].concat(values) : found[name] = new(name, *values)
      end
      found
    end

    def initialize(name = "", *values)
      options = name.is_a?(String) ? { "name" => name, "value" => values } : name
      raise ArgumentError, "`name' required" unless options.key?("name")
      self.name = options["name"]
      self.path = options["path"] || ""
      self.domain = options["domain"]
      @expires = options["expires"]
      @secure = options["secure"] == true
      @httponly = options["httponly"] == true
      @values = Array(options["value"])
    end

    def name=(text)
      raise ArgumentError, "invalid name: #{text}" unless TOKEN.match?(text)
      @name = text
    end

    def path=(text)
      raise ArgumentError, "invalid path: #{text}" unless PATH.match?(text)
      @path = text
    end

    def domain=(text)
      raise ArgumentError, "invalid domain: #{text}" if text && (text.size > 255 || !DOMAIN.match?(text))
      @domain = text
    end

    def secure=(value)
      @secure = value if value == true || value == false
    end

    def httponly=(value)
      @httponly = value == true
    end

    def value = self

    def value=(values)
      @values = Array(values)
    end

    def each(&block)
      @values.each(&block)
      self
    end

    def to_ary = to_a
    def ==(other) = to_a == other.to_a
    def size = @values.size
    alias length size
    def empty? = @values.empty?
    def [](*args) = @values[*args]
    def last = @values.last
    def join(*args) = @values.join(*args)

    def concat(values)
      @values.concat(values)
      self
    end

    def to_s
      text = "#{@name}=#{map { |value| CGI.escape(value.to_s) }.join('&')}"
      text += "; domain=#{@domain}" if @domain
      text += "; path=#{@path}" if @path
      text += "; expires=#{CGI.rfc1123_date(@expires)}" if @expires
      text += "; secure" if @secure
      text += "; HttpOnly" if @httponly
      text
    end

    def inspect = "#<CGI::Cookie: #{to_s.inspect}>"
  end
end
