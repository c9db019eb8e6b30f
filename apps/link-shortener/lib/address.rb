# The address that a link leads to: checked, and put into its usual form.

require "uri"

module Address
  class Bad < StandardError; end

  LENGTH_MAX = 2000

  # The address; Bad says what is wrong with it. `own` is the host of this service.
  def self.check(text, own = nil)
    text = text.to_s.strip
    raise Bad, "Say which address the link should lead to." if text.empty?
    raise Bad, "An address has at most #{LENGTH_MAX} characters." if text.size > LENGTH_MAX
    text = "https://#{text}" unless text.include?("://")
    uri = parse(text)
    host = uri.host.to_s.downcase
    raise Bad, "Only addresses with http:// or https:// can be shortened." unless %w[http https].include?(uri.scheme)
    raise Bad, "This address names no host, such as example.com." unless host?(host)
    raise Bad, "A name before the @ makes an address look like another: leave it out." if uri.userinfo
    raise Bad, "This is an address of this service already." if own && host == own.split(":").first.downcase
    uri.to_s
  end

  def self.parse(text)
    URI.parse(text)
  rescue URI::Error
    raise Bad, "This is no address: letters outside of ASCII, spaces and quotes must be percent-encoded."
  end

  def self.host?(host)
    return true if host == "localhost" || host.start_with?("[")
    host.include?(".") && host.split(".", -1).all? { |part| part.match?(/\A[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\z/) }
  end

  private_class_method :parse, :host?
end
