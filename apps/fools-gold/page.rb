# The page of FoolsGold: a title, the id of the request, the number of requests seen so far, and a picture.
# Everything but the id and the number is put together once, when the application is loaded, so that a request costs
# one string. Plain Ruby on purpose: the same file runs on the embedded mruby and, for the twin, on CRuby.

# Answers the page at /fools-gold and its picture beside it.
class FoolsGoldPage
  # Stand in the template where the two values of a request go; UUIDs and numbers never contain them.
  ID = "{id}"
  COUNT = "{count}"

  # Strings that every request needs: frozen, so that none makes them anew.
  METHOD = "REQUEST_METHOD".freeze
  PATH = "PATH_INFO".freeze
  GET = "GET".freeze
  HERE = "/fools-gold".freeze
  HTML = "text/html; charset=utf-8".freeze
  TEXT = "text/plain; charset=utf-8".freeze
  TYPE = "content-type".freeze
  CACHE = "cache-control".freeze
  NO_STORE = "no-store".freeze

  # `visits` answers `call(env)` with the id of this request and the number of requests so far, this one included.
  def initialize(visits)
    folder = File.dirname(__FILE__)
    @visits = visits
    @top, rest = split(File.read(File.join(folder, "page.html")), COUNT)
    @middle, @bottom = split(rest, ID)
    @picture = File.read(File.join(folder, "pyrite.svg"))
  end

  # Lengths are the server's business, or that of a middleware around this.
  def call(env)
    return page(env) if env[PATH] == HERE && env[METHOD] == GET
    method = env[METHOD]
    return refuse(method) unless method == GET || method == "HEAD"

    case env[PATH]
    when HERE then page(env)
    when "/fools-gold/pyrite.svg" then picture
    when "/" then [302, { "location" => HERE }, []]
    else text(404, "There is only fool's gold here: see /fools-gold\n")
    end
  end

  private

  def page(env)
    id, count = @visits.call(env)
    [200, { TYPE => HTML, CACHE => NO_STORE }, [@top, count.to_s, @middle, id, @bottom]]
  end

  def picture
    [200, { TYPE => "image/svg+xml", CACHE => "public, max-age=86400" }, [@picture]]
  end

  def refuse(method)
    status, headers, body = text(405, "#{method} is not for looking at gold: use GET\n")
    headers["allow"] = "GET, HEAD"
    [status, headers, body]
  end

  def text(status, words)
    [status, { TYPE => TEXT }, [words]]
  end

  # The two parts of `whole` around `mark`. A template without its mark is a mistake to be told at boot.
  def split(whole, mark)
    at = whole.index(mark)
    raise ArgumentError, "page.html has no #{mark}" unless at

    [whole[0, at], whole[(at + mark.size)..-1]]
  end
end
