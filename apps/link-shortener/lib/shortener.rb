# Which page or answer belongs to a request.

require "json"
require "openssl"
require "securerandom"
require "uri"
require_relative "links"
require_relative "wish"
require_relative "pages"
require_relative "api"

class Shortener
  HEADERS = {
    "content-security-policy" => "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; " \
      "base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options" => "nosniff", "referrer-policy" => "same-origin", "cache-control" => "no-store"
  }.freeze
  BODY_MAX = 65_536
  CODE = %r{\A/([A-Za-z0-9-]{3,40})\z}
  STATISTICS = %r{\A/([A-Za-z0-9-]{3,40})\+\z}
  RETIRE = %r{\A/links/([A-Za-z0-9-]{3,40})/retire\z}
  API = %r{\A/api/links(?:/([A-Za-z0-9-]{3,40}))?\z}

  def initialize(database)
    @database = database
  end

  def call(env)
    Request.new(env, Links.open(@database)).answer
  end

  # One request. (Rack gives each its own env, so nothing here is shared.)
  class Request
    def initialize(env, links)
      @env = env
      @links = links
      @session = env["session"]
      @own = env["HTTP_HOST"] || "#{env['SERVER_NAME']}:#{env['SERVER_PORT']}"
      @root = env["SCRIPT_NAME"]
      @base = "#{env['rack.url_scheme']}://#{@own}#{@root}"
      # Servers give bytes, and SQLite keeps texts and bytes apart.
      @path = env["PATH_INFO"].empty? ? "/" : env["PATH_INFO"].dup.force_encoding("UTF-8")
    end

    def answer
      verb = @env["REQUEST_METHOD"]
      return head_of(answer_to("GET")) if verb == "HEAD"
      answer_to(verb)
    end

    private

    def answer_to(verb)
      if (match = API.match(@path)) then json(*Api.new(@links, @base, @own).call(verb, match[1], @env, body))
      elsif verb == "GET" && @path == "/" then home
      elsif verb == "GET" && (match = CODE.match(@path)) then follow(match[1])
      elsif verb == "GET" && (match = STATISTICS.match(@path)) then statistics(match[1])
      elsif verb == "POST" && @path == "/links" then checked { |form| make(form) }
      elsif verb == "POST" && (match = RETIRE.match(@path)) then checked { retire(match[1]) }
      elsif %w[GET POST].include?(verb) then missing
      else message(405, "Not like this", "This page can be looked at and nothing else.")
      end
    end

    def home(status = 200, form = {}, problem = nil)
      mine = @session["owner"] ? @links.of_owner(@session["owner"]) : []
      page(status, "home", "Short links", links: mine, form: form, problem: problem)
    end

    def make(form)
      wish = Wish.new(form, @own)
      @session["owner"] ||= SecureRandom.hex(12)
      link = @links.make(wish.url, owner: @session["owner"], code: wish.code, days: wish.days)
      back("#{@base}/#{link['code']} is ready.")
    rescue Address::Bad, Wish::Bad => error
      home(422, form, error.message)
    rescue Links::Taken
      home(409, form, "This code is taken: choose another, or none.")
    rescue Links::ReadOnly
      home(503, form, "No links can be made now. Those that are there can be followed; try again later.")
    end

    def retire(code)
      link = @links.find(code)
      return missing unless link && link["owner"] && link["owner"] == @session["owner"]
      @links.retire(code)
      back("/#{code} leads nowhere any more.")
    rescue Links::ReadOnly
      message(503, "Not now", "No links can be retired now. Try again later.")
    end

    def follow(code)
      link = @links.find(code)
      return missing unless link
      return message(410, "Gone", "This link has been retired, or its time is over.") unless @links.live?(link)
      @links.count_visit(code) unless @env["REQUEST_METHOD"] == "HEAD"
      [302, { "location" => link["url"], "cache-control" => "no-store", "content-type" => "text/plain" }, []]
    end

    def statistics(code)
      link = @links.find(code)
      return missing unless link
      page(200, "link", "/#{code}", link: link, days: @links.days_of(code, 14), live: @links.live?(link))
    end

    def missing = message(404, "Nothing here", "No link has this address. It may have been mistyped.")

    def message(status, title, text)
      page(status, "message", title, text: text)
    end

    # A form that was sent from a page of ours: a stranger's page does not know the token.
    def checked
      form = fields
      known = @session["token"].to_s
      return yield(form) if !known.empty? && OpenSSL.secure_compare(known, form["token"].to_s)
      message(403, "Try again", "This form is too old, or was not made by this page. Go back and send it once more.")
    end

    def fields
      URI.decode_www_form(body).to_h
    rescue ArgumentError
      # What cannot be read has no token either.
      {}
    end

    def body
      @body ||= @env["rack.input"] ? @env["rack.input"].read(BODY_MAX).to_s : ""
    end

    def page(status, name, title, values)
      @session["token"] ||= SecureRandom.hex(16)
      text = Pages.new(@base, @root, @session).render(name, title, values)
      [status, HEADERS.merge("content-type" => "text/html; charset=utf-8"), [text]]
    end

    def back(notice)
      @session["notice"] = notice
      [303, HEADERS.merge("location" => "#{@root}/"), []]
    end

    def json(status, object)
      headers = { "content-type" => "application/json", "cache-control" => "no-store" }
      [status, headers, [JSON.generate(object) + "\n"]]
    end

    def head_of(answer) = [answer[0], answer[1], []]
  end
end
