# Pages: templates below views/, compiled once into methods, with what they need at hand.

require "erb"

class Pages
  include ERB::Util

  VIEWS = File.expand_path("../views", __dir__)

  %w[layout home link message].each do |name|
    path = File.join(VIEWS, "#{name}.erb")
    ERB.new(File.read(path), trim_mode: "-").def_method(self, name, path)
  end

  # Of one request: where the service is, as others call it and as its own pages do, and who asks.
  def initialize(base, root, session)
    @base = base
    @root = root
    @session = session
  end

  # The whole page with `values` as instance variables of its template.
  def render(name, title, values = {})
    values.each { |key, value| instance_variable_set("@#{key}", value) }
    @title = title
    @notice = @session.delete("notice")
    @inside = __send__(name)
    layout
  end

  private

  def short(link)
    "#{@base}/#{link['code']}"
  end

  # Without what every address has.
  def plain(url)
    url.delete_prefix("https://").delete_prefix("http://").delete_suffix("/")
  end

  def token
    "<input type=\"hidden\" name=\"token\" value=\"#{h(@session['token'])}\">"
  end

  def visits(count)
    count == 1 ? "1 visit" : "#{count} visits"
  end

  def day(seconds)
    Time.at(seconds).getutc.strftime("%-d %b %Y")
  end

  # The height of a bar, at most 72.
  def share(count, most)
    count == 0 ? 2 : 6 + 66 * count / most
  end
end
