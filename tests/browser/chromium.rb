# Drives headless Chromium over its DevTools protocol, through a pair of pipes (--remote-debugging-pipe): messages are
# JSON, each with a zero byte behind it. Nothing is needed but Chromium and Ruby.

require "io/nonblock"
require "json"
require "tmpdir"
require "fileutils"

# A browser that does not do what it was asked to.
class BrowserError < StandardError; end

# The clock that nobody sets.
def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

# Waits until the block's value is true, and returns it; false when that takes too long.
def within(seconds, pause: 0.02)
  limit = now + seconds
  loop do
    value = yield
    return value if value
    return false if now > limit

    sleep pause
  end
end

# One browser process with an empty profile.
class Chromium
  NAMES = %w[chromium chromium-browser google-chrome].freeze
  FLAGS = %w[
    --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --no-default-browser-check
    --disable-background-networking --disable-component-update --disable-sync --disable-extensions
    --disable-default-apps
    --disable-domain-reliability --disable-client-side-phishing-detection --metrics-recording-only --no-pings
    --disable-features=BackForwardCache,OptimizationHints,MediaRouter,Translate,DialMediaRouteProvider --mute-audio
    --disable-background-timer-throttling --disable-renderer-backgrounding --disable-backgrounding-occluded-windows
    --autoplay-policy=no-user-gesture-required --disable-dev-shm-usage --window-size=1000,900
    --host-resolver-rules=MAP\ *\ ~NOTFOUND,EXCLUDE\ 127.0.0.1,EXCLUDE\ localhost --remote-debugging-pipe
  ].freeze
  ANSWER_S = 30

  def self.path
    ENV.fetch("PATH").split(":").product(NAMES).map { |folder, name| File.join(folder, name) }
      .find { |file| File.executable?(file) }
  end

  def initialize(program)
    @profile = Dir.mktmpdir("browser-profile-")
    from_us, @out = IO.pipe
    @in, to_us = IO.pipe
    # Ruby's pipes do not block, and Chromium takes that for the end of them.
    [from_us, to_us].each { |pipe| pipe.nonblock = false }
    @log = File.join(@profile, "chromium.log")
    @pid = spawn({ "HOME" => @profile, "XDG_CONFIG_HOME" => nil }, program, *FLAGS, "--user-data-dir=#{@profile}/data",
      "about:blank", 3 => from_us, 4 => to_us, out: @log, err: @log, pgroup: true)
    [from_us, to_us].each(&:close)
    @lock = Mutex.new
    @answers = {}
    @tabs = {}
    @last = 0
    @listener = Thread.new { listen }
    call("Browser.getVersion")
  end

  # Closes it; what does not go in time is killed, as are processes that it leaves behind.
  def close
    call("Browser.close") rescue nil
    gone = within(5) { Process.wait(@pid, Process::WNOHANG) }
    begin
      Process.kill(:KILL, -@pid)
    rescue Errno::ESRCH
      nil
    end
    Process.wait(@pid) unless gone
    [@out, @in].each(&:close)
    @listener.join(1)
    within(5) { FileUtils.rm_rf(@profile) || !File.exist?(@profile) }
  end

  def version = call("Browser.getVersion")["product"]

  # Somebody with cookies of their own. Downloads go to the folder.
  def visitor(base, downloads)
    context = call("Target.createBrowserContext")["browserContextId"]
    call("Browser.setDownloadBehavior", behavior: "allowAndName", browserContextId: context, downloadPath: downloads,
      eventsEnabled: true)
    Visitor.new(self, context, base, downloads)
  end

  # Sends a command, and returns the answer of Chromium.
  def call(method, session: nil, patience: ANSWER_S, **params)
    answer = Thread::Queue.new
    @lock.synchronize do
      @last += 1
      @answers[@last] = answer
      message = { id: @last, method: method, params: params }
      message[:sessionId] = session if session
      @out.write(JSON.generate(message), "\0")
    end
    reply = within(patience, pause: 0.002) { answer.pop(true) rescue nil }
    raise BrowserError, "#{method} has no answer" unless reply
    raise BrowserError, "#{method}: #{reply["error"]["message"]}" if reply["error"]

    reply["result"]
  end

  def register(session, tab) = @lock.synchronize { @tabs[session] = tab }

  # Events of the browser itself, such as downloads.
  def events = @events ||= []

  private

  def listen
    while (message = @in.gets("\0"))
      message = JSON.parse(message.chomp("\0"))
      if message["id"]
        @lock.synchronize { @answers.delete(message["id"]) }&.push(message)
      elsif (tab = @lock.synchronize { @tabs[message["sessionId"]] })
        tab.take(message["method"], message["params"])
      else
        events << message
      end
    end
  rescue IOError, Errno::EPIPE
    nil
  end
end

# One set of cookies, with tabs.
class Visitor
  attr_reader :base, :downloads, :browser

  def initialize(browser, context, base, downloads)
    @browser = browser
    @context = context
    @base = base
    @downloads = downloads
  end

  def tab
    target = @browser.call("Target.createTarget", url: "about:blank", browserContextId: @context)["targetId"]
    session = @browser.call("Target.attachToTarget", targetId: target, flatten: true)["sessionId"]
    Tab.new(self, target, session)
  end

  def cookies
    found = @browser.call("Storage.getCookies", browserContextId: @context)["cookies"]
    found.sort_by { |cookie| cookie["name"] }
  end

  # Runs the block, which starts a download, and returns its name and its bytes.
  def download
    before = @browser.events.size
    yield
    seen = -> { @browser.events.drop(before).map { |event| [event["method"], event["params"]] } }
    begun = within(15) { seen.call.find { |method, _| method == "Browser.downloadWillBegin" } }
    raise BrowserError, "no download begins" unless begun

    guid = begun[1]["guid"]
    state = within(60) do
      progress = seen.call.select { |method, params| method == "Browser.downloadProgress" && params["guid"] == guid }
      progress.map { |_, params| params["state"] }.find { |one| one != "inProgress" }
    end
    path = File.join(@downloads, guid)
    bytes = File.exist?(path) ? File.binread(path) : nil
    File.unlink(path) if bytes
    { name: begun[1]["suggestedFilename"], state: state || "never ended", bytes: bytes }
  end

  def leave
    @browser.call("Target.disposeBrowserContext", browserContextId: @context)
  rescue BrowserError
    nil
  end
end

# One tab: a page, and all that the network and the console said of it.
class Tab
  LOAD_S = 40
  Request = Struct.new(:id, :url, :method, :type, :status, :headers, :fields, :error, :range, :from_cache, :mime)

  attr_reader :requests, :console, :sockets

  def initialize(visitor, target, session)
    @visitor = visitor
    @target = target
    @session = session
    @requests = []
    @console = []
    @sockets = []
    @loads = 0
    @visitor.browser.register(session, self)
    %w[Page Runtime Network Log DOM].each { |domain| call("#{domain}.enable") }
    call("Emulation.setFocusEmulationEnabled", enabled: true)
  end

  def call(method, **params) = @visitor.browser.call(method, session: @session, **params)

  def close = @visitor.browser.call("Target.closeTarget", targetId: @target)

  # Events of this tab, in the thread that listens.
  def take(event, params)
    case event
    when "Page.loadEventFired" then @loads += 1
    when "Network.requestWillBeSent" then requested(params)
    when "Network.responseReceived" then answered(find(params), params["response"])
    when "Network.responseReceivedExtraInfo" then find(params)&.then { |one| one.fields = fields(params["headers"]) }
    when "Network.requestServedFromCache" then find(params)&.then { |one| one.from_cache = true }
    when "Network.loadingFailed" then find(params)&.then { |one| one.error = params["errorText"] }
    when "Network.webSocketHandshakeResponseReceived" then @sockets << [:open, params.dig("response", "status")]
    when "Network.webSocketFrameError" then @sockets << [:error, params["errorMessage"]]
    when "Network.webSocketClosed" then @sockets << [:closed, nil]
    when "Runtime.exceptionThrown"
      details = params["exceptionDetails"]
      @console << "exception: #{details.dig("exception", "description") || details["text"]}"
    when "Runtime.consoleAPICalled"
      @console << "#{params["type"]}: #{params["args"].map { |one| one["value"] || one["description"] }.join(" ")}"
    when "Log.entryAdded"
      entry = params["entry"]
      @console << "#{entry["level"]}: #{entry["text"]}#{" <#{entry["url"]}>" if entry["url"]}"
    when "Page.javascriptDialogOpening" then Thread.new { call("Page.handleJavaScriptDialog", accept: true) }
    end
  end

  # Goes to the path and waits until the page is complete. Returns the request of the document.
  def go(path)
    arriving { call("Page.navigate", url: path.start_with?("http") ? path : @visitor.base + path) }
  end

  def reload = arriving { call("Page.reload") }

  # Runs the block, which leads to another page, and waits until it is complete.
  def arriving
    loads = @loads
    seen = @requests.size
    failed = yield
    if failed.is_a?(Hash) && failed["errorText"]
      return @requests.drop(seen).reverse.find { |one| one.type == "Document" }
    end
    arrived = within(LOAD_S) { @loads > loads }
    raise BrowserError, "no page is loaded in #{LOAD_S} s; #{evaluate("location.href")}" unless arrived

    @requests.drop(seen).reverse.find { |one| one.type == "Document" }
  end

  # The value of an expression; a promise is waited for.
  def evaluate(expression, patience: 30)
    answer = call("Runtime.evaluate", expression: expression, awaitPromise: true, returnByValue: true,
      userGesture: true, patience: patience)
    thrown = answer["exceptionDetails"]
    raise BrowserError, (thrown.dig("exception", "description") || thrown["text"]).lines.first.chomp if thrown

    answer.dig("result", "value")
  end

  # The value of the body of an async function.
  def run(body, patience: 60) = evaluate("(async () => { #{body} })()", patience: patience)

  def text = evaluate("document.body ? document.body.innerText : ''").gsub(/\s*\n\s*/, "\n").strip

  def path = evaluate("location.pathname + location.search")

  def wait_for(condition, seconds = 15) = within(seconds) { evaluate("!!(#{condition})") rescue false }

  # A real click, in the middle of the element.
  def click(selector)
    place = evaluate(<<~JS)
      (() => { const one = document.querySelector(#{selector.to_json});
        if (!one) return null;
        one.scrollIntoView({ block: "center" });
        const box = one.getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2]; })()
    JS
    raise BrowserError, "#{path} has no #{selector}" unless place

    %w[mousePressed mouseReleased].each do |type|
      call("Input.dispatchMouseEvent", type: type, x: place[0], y: place[1], button: "left", clickCount: 1)
    end
  end

  # Puts text into a field, as from the clipboard.
  def fill(selector, text)
    found = evaluate(<<~JS)
      (() => { const one = document.querySelector(#{selector.to_json}); one?.focus(); one?.select?.(); return !!one })()
    JS
    raise BrowserError, "#{path} has no #{selector}" unless found

    call("Input.insertText", text: text)
  end

  # Chooses files in a field.
  def choose(selector, files)
    found = call("Runtime.evaluate", expression: "document.querySelector(#{selector.to_json})")
    object = found.dig("result", "objectId")
    raise BrowserError, "#{path} has no #{selector}" unless object

    call("DOM.setFileInputFiles", files: files, objectId: object)
  end

  # A tab that is behind another is not painted.
  def screenshot(file)
    call("Page.bringToFront")
    data = call("Page.captureScreenshot", format: "png", captureBeyondViewport: true)["data"]
    File.binwrite(file, data.unpack1("m"))
  end

  private

  def find(params) = @requests.reverse_each.find { |one| one.id == params["requestId"] }

  # Redirects have the id of the request that led to them.
  def requested(params)
    answered(find(params), params["redirectResponse"]) if params["redirectResponse"]
    request = params["request"]
    range = request["headers"].find { |name, _| name.casecmp?("range") }&.last
    one = Request.new(params["requestId"], request["url"], request["method"], params["type"])
    one.range = range
    @requests << one
  end

  def answered(request, response)
    return unless request

    request.status = response["status"]
    request.headers = fields(response["headers"])
    request.mime = response["mimeType"]
    request.from_cache = true if response["fromDiskCache"]
  end

  def fields(headers) = headers.transform_keys(&:downcase)
end
