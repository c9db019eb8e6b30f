# Reads the feed of another server, as applications do that put a page together from elsewhere.

require "json"
require "net/http"

# Ten items, read anew for each request.
class Feed
  URL = "http://127.0.0.1:9510/feed".freeze
  ITEMS = 10
  # Seconds until an upstream counts as gone.
  PATIENCE = 5

  # Says what is wrong with the upstream, and what to do.
  class Unreadable < StandardError; end

  def initialize(url)
    @url = URI(url)
    raise ArgumentError, "FEED_URL is #{url.inspect}: give one such as #{URL}" unless @url.instance_of?(URI::HTTP)
  end

  # Hashes with "title", "link", "author", "published" and "summary".
  def items
    response = get
    unreadable("answered #{response.code}, not 200") unless response.code == "200"
    feed = JSON.parse(response.body)
    items = feed["items"] if feed.is_a?(Hash)
    unreadable("has not #{ITEMS} items") unless items.is_a?(Array) && items.size == ITEMS
    items
  rescue JSON::ParserError
    unreadable("answered something other than JSON")
  end

  private

  # The first nil: no proxy, whatever the environment says; the upstream is on this machine.
  def get
    times = { open_timeout: PATIENCE, read_timeout: PATIENCE }
    Net::HTTP.start(@url.host, @url.port, nil, nil, nil, nil, times) { |http| http.get(@url.request_uri) }
  rescue SystemCallError, SocketError, IOError, Timeout::Error, Net::ProtocolError, Net::HTTPBadResponse => error
    unreadable("cannot be read (#{error.message})")
  end

  def unreadable(why)
    raise Unreadable, "#{@url} #{why}: start the upstream with `ruby upstream.rb`, or say by FEED_URL where it is"
  end
end
