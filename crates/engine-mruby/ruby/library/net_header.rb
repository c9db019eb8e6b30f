# Headers of a request or response: names in any case, each with all its values.

module Net
  module HTTPHeader
    def initialize_http_header(headers)
      @header = {}
      headers&.each { |name, value| self[name] = value }
    end

    def [](name)
      values = @header[name.to_s.downcase]
      values && values.join(", ")
    end

    def []=(name, value)
      return delete(name) if value.nil?
      @header[name.to_s.downcase] = Array(value).map { |one| clean(one) }
    end

    def add_field(name, value)
      (@header[name.to_s.downcase] ||= []).concat(Array(value).map { |one| clean(one) })
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

    def each_capitalized
      return to_enum(:each_capitalized) unless block_given?
      @header.each { |name, values| yield name.split("-").map(&:capitalize).join("-"), values.join(", ") }
    end
    alias canonical_each each_capitalized

    def to_hash = @header.dup

    # The headers for Rust: a pair for each value.
    def pairs = @header.flat_map { |name, values| values.map { |value| [name, value] } }

    def content_length = self["content-length"]&.to_i
    def content_length=(length)
      self["content-length"] = length&.to_s
    end

    def content_type = self["content-type"]&.split(";", 2)&.first&.strip
    def main_type = content_type&.split("/")&.first
    def sub_type = content_type&.split("/", 2)&.last
    def chunked? = self["transfer-encoding"].to_s.downcase.include?("chunked")
    def connection_close? = self["connection"].to_s.downcase.include?("close")

    def type_params
      parts = self["content-type"].to_s.split(";").drop(1).map { |part| part.strip.split("=", 2) }
      parts.select { |part| part.size == 2 }.map { |name, value| [name, value.delete("\"")] }.to_h
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
      self["authorization"] = "Basic #{["#{user}:#{password}"].pack('m0')}"
    end

    private

    def clean(value)
      value = value.to_s
      raise ArgumentError, "header field value cannot include CR/LF" if value.include?("\r") || value.include?("\n")
      value.strip
    end
  end
end
