# The address that a link leads to: checked, and put into its usual form.

require "uri"

module Address
  class Bad < StandardError; end

  LENGTH_MAX = 2000
  # What an address may have behind its host. All else is percent-encoded (RFC 3987 section 3.1).
  KEPT = [*"A".."Z", *"a".."z", *"0".."9", *"-._~:/?#@!$&'()*+,;=%".chars].map { |one| [one.ord, one] }.to_h.freeze
  # A scheme without slashes, and what may be the port behind a host.
  SCHEME = /\A([a-z][a-z0-9+.-]*):(?!\/\/)(\d*)/i
  PARTS = %r{\A([a-z][a-z0-9+.-]*://)([^/?#]*)(.*)\z}i

  ONLY_WEB = "Only addresses with http:// or https:// can be shortened.".freeze
  NO_ADDRESS = "This is no address: it should be like https://example.com/page.".freeze

  # Stands for bytes that were no UTF-8, once a form is decoded.
  REPLACEMENT = "\uFFFD".freeze

  # The address; Bad says what is wrong with it. `own` is the host of this service.
  def self.check(text, own = nil)
    text = text.to_s.strip
    raise Bad, "Say which address the link should lead to." if text.empty?
    is_readable = text.valid_encoding? && !text.include?(REPLACEMENT)
    raise Bad, NO_ADDRESS if !is_readable || text.match?(/[\x00-\x1f\x7f]/)
    raise Bad, "An address has at most #{LENGTH_MAX} characters." if text.size > LENGTH_MAX
    uri = parse(encoded(with_scheme(text)))
    host = uri.host.to_s.downcase
    raise Bad, "This address names no host, such as example.com." unless host?(host)
    raise Bad, "A name before the @ makes an address look like another: leave it out." if uri.userinfo
    raise Bad, "This is an address of this service already." if own && host == own.split(":").first.downcase
    raise Bad, "An address has at most #{LENGTH_MAX} characters, encoded." if uri.to_s.size > LENGTH_MAX
    uri.to_s
  end

  # `example.com:80` has a port, `mailto:me` and `javascript:1` have a scheme.
  def self.with_scheme(text)
    return text if text.match?(%r{\Ahttps?://}i)
    word, port = text.match(SCHEME)&.captures
    is_host = word && !port.empty? && (word.include?(".") || word == "localhost")
    raise Bad, ONLY_WEB if text.match?(PARTS) || (word && !is_host)
    "https://#{text}"
  end

  def self.encoded(text)
    scheme, host, rest = text.match(PARTS)&.captures
    raise Bad, NO_ADDRESS unless scheme
    unless host.ascii_only?
      raise Bad, "A host outside of ASCII must be written as browsers send it, such as xn--mnchen-3ya.de."
    end
    scheme + host + rest.bytes.map { |byte| KEPT[byte] || format("%%%02X", byte) }.join
  end

  def self.parse(text)
    URI.parse(text)
  rescue URI::Error
    raise Bad, NO_ADDRESS
  end

  def self.host?(host)
    return true if host == "localhost" || host.start_with?("[")
    host.include?(".") && host.split(".", -1).all? { |part| part.match?(/\A[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\z/) }
  end

  private_class_method :with_scheme, :encoded, :parse, :host?
end
