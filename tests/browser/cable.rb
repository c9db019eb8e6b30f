# Steps: Action Cable; deploys, deaths and the end while browsers are there.

require_relative "script"

class Script
  CONNECTED = "document.getElementById('state').textContent === 'connected'".freeze
  WELCOME = "chat.messages.some((one) => one.kind === 'welcome')".freeze

  def talker(name, who = newcomer)
    page = who.tab
    page.go("/chat?as=#{name}")
    page.wait_for("#{CONNECTED} && #{WELCOME}") || see("#{name} is not connected", page.console + page.sockets)
    page
  end

  def say(page, words)
    page.fill("#words", words)
    page.click("#say button")
  end

  def heard?(page, text, seconds = 10)
    page.wait_for("chat.messages.some((one) => one.text === #{text.to_json})", seconds)
  end

  # Both hear what each says, sooner or later: what was sent while the other was away is lost on any server.
  def talk_again(*pages)
    began = now
    pages.each { |page| page.wait_for(CONNECTED, 40) }
    talk = pages.map do |from|
      words = "still there, #{rand(1_000_000)}?"
      within(20) do
        say(from, words)
        pages.all? { |page| heard?(page, words, 1) }
      end
    end
    # Action Cable's script looks every few seconds, at moments chosen by chance, whether it has to connect again.
    see "until they talk again", Figure.new(now - began, 20, " s")
    talk
  end

  step "a chat of two" do
    ann, bob = talker("Ann"), talker("Bob")
    say ann, "Hello!"
    see "Bob hears", heard?(bob, "Hello!")
    say bob, "Zdravím <i>金</i>"
    see "Ann hears", heard?(ann, "Zdravím <i>金</i>")
    see "Ann's page", ann.text
    see "Bob's page", bob.text
    ann.run("chat.channel.perform('recite', { words: 20000 })")
    recited = "chat.messages.some((one) => one.kind === 'recited' && one.text.length === 100000)"
    see "a long message", ann.wait_for(recited)
    ann.run("for (let at = 0; at < 100; at++) chat.channel.perform('say', { text: `number ${at}` })")
    numbers = "chat.messages.map((one) => one.text).filter((one) => /^number/.test(one))"
    see "a hundred", bob.wait_for("new Set(#{numbers}).size === 100")
    shot_of(ann, "a chat")
    bob.close
    see "Bob leaves", ann.wait_for("chat.messages.some((one) => one.kind === 'left' && one.visitor === 'Bob')")
    see "sockets", ann.sockets.select { |what, _| what == :open }.uniq
    # On a busy machine Action Cable's script may miss pings, and connects anew.
    see "connections", Figure.new(ann.sockets.count { |what, _| what == :open }, 3, "")
    see "trouble", ann.console.map { |line| plain(line) }
  end

  step "who may not chat" do
    stranger = newcomer.tab
    stranger.go("/robots.txt")
    see "without a cookie", socket("ws://127.0.0.1:#{contender.port}/cable", stranger)
    tab.go("http://localhost:#{contender.port}/robots.txt")
    see "from elsewhere", socket("ws://127.0.0.1:#{contender.port}/cable", tab)
    see "another path", socket("ws://127.0.0.1:#{contender.port}/nothing", tab)
    see "a page that is no socket", socket("ws://127.0.0.1:#{contender.port}/version", tab)
    see "the socket's path as a page", tab.run("return (await fetch('/cable')).status")
  end

  # What becomes of a WebSocket: its messages but pings, and its end.
  def socket(address, page)
    page.run(<<~JS)
      return await new Promise((done) => {
        const seen = [];
        const socket = new WebSocket(#{address.to_json}, ["actioncable-v1-json", "actioncable-unsupported"]);
        socket.onopen = () => seen.push("open " + socket.protocol);
        socket.onmessage = (event) => { if (JSON.parse(event.data).type !== "ping") seen.push(event.data); };
        socket.onerror = () => seen.push("error");
        socket.onclose = (event) => { seen.push(`closed ${event.code} ${event.wasClean}`); done(seen); };
        setTimeout(() => { seen.push("still open"); socket.onclose = null; socket.close(); done(seen); }, 1500);
      });
    JS
  end

  def shot_of(page, name)
    page.screenshot(File.join(@shots, "#{contender.mode}-#{contender.server}-#{name.tr(" ", "-")}.png")) if @shots
  end

  WATCH = <<~JS.freeze
    window.watch = { stop: false, asked: 0, failed: [], versions: [], pids: [], longest: 0 };
    const follow = async (path, options, pause) => {
      while (!watch.stop) {
        const began = performance.now();
        watch.asked += 1;
        try {
          const answer = await fetch(path, { cache: "no-store", ...options });
          const told = await answer.json();
          if (answer.status !== 200) watch.failed.push(`${options.method || "GET"} ${answer.status}`);
          if (told.version) { watch.versions.push(told.version); watch.pids.push(told.pid); }
        } catch (error) { watch.failed.push(`${options.method || "GET"} ${error}`); }
        watch.longest = Math.max(watch.longest, performance.now() - began);
        await new Promise((done) => setTimeout(done, pause));
      }
    };
    watch.done = Promise.all([follow("/version", {}, 30), follow("/echo", { method: "POST", body: "gold" }, 60)]);
    1;
  JS

  # A page that asks all the time, while the block does something to the server. Of its POSTs, some may fail on one
  # server and by chance not on the other: those that a killed worker was busy with.
  def watched(chance: 0)
    watcher = newcomer.tab
    watcher.go("/robots.txt")
    watcher.evaluate("(() => { #{WATCH} })()")
    watcher.wait_for("watch.versions.length > 3")
    yield watcher
    watcher.run("watch.stop = true; await watch.done")
    seen = watcher.evaluate("({ ...watch, done: 0 })")
    see "failed GET", Figure.new(seen["failed"].count { |one| one.start_with?("GET") }, 0, "")
    see "failed POST", Figure.new(seen["failed"].count { |one| one.start_with?("POST") }, chance, "")
    see "longest answer", Figure.new(seen["longest"] / 1000, 1, " s")
    @now["failures (not compared)"] = seen["failed"].tally
    seen
  end

  step "a deploy in the middle", "production" do
    ann, bob = talker("Ann"), talker("Bob")
    form = visitor.tab
    form.go("/account/new")
    form.fill("#account_name", "Early bird")
    form.fill("#account_email", "early@example.org")
    tab.go("/")
    seen = watched do |watcher|
      tab.evaluate("window.slow = fetch('/slow?s=2').then((one) => one.text()).catch(String); 1")
      tab.evaluate(<<~JS)
        const body = new Blob([new Uint8Array(30000000)], { type: "application/octet-stream" });
        window.big = fetch("/echo", { method: "POST", body }).then((one) => one.status).catch(String);
        1
      JS
      sleep 0.3
      began = now
      contender.deploy
      see "new code serves", watcher.wait_for("watch.versions.at(-1) === 'two'", 90)
      see "until the new code serves", Figure.new(now - began, 15, " s")
      sleep 1.5
    end
    see "versions in turn", seen["versions"].chunk_while { |one, other| one == other }.map(&:first)
    see "a request from before", tab.evaluate("slow")
    see "an upload from before", tab.evaluate("big")
    see "a form from before", form.arriving { form.click("input[type=submit]") }.status
    see "the form's answer", form.text
    see "they talk again", talk_again(ann, bob)
    see "welcomes", ann.evaluate("chat.messages.filter((one) => one.kind === 'welcome').map((one) => one.text)")
    see "sockets closed with", ann.evaluate("chat.closed[0]")
  end

  step "workers are killed", "production" do
    ann, bob = talker("Ann"), talker("Bob")
    seen = watched(chance: 2) do
      2.times do
        killed = contender.version["pid"]
        Process.kill(:KILL, killed)
        see "it is replaced", replaced?(killed)
      end
    end
    @now["workers (not compared)"] = seen["pids"].uniq.size
    see "they talk again", talk_again(ann, bob)
  end

  # Whether two processes answer, and this one is not among them.
  def replaced?(killed)
    pids = []
    within(30) do
      pids = pids.last(30) << contender.version["pid"]
      pids.size > 20 && pids.uniq.size >= 2 && !pids.include?(killed)
    rescue SystemCallError, EOFError
      see "refused while it is replaced", true
      false
    end
  end

  step "a file is touched", "production" do
    load = contender.version["load"]
    contender.touch_restart
    see "others serve", within(60, pause: 0.1) { Array.new(6) { contender.version["load"] }.none?(load) rescue false }
  end

  step "code is changed", "development" do
    tab.go("/")
    view = contender.file("app/views/pages/home.html.erb")
    controller = contender.file("app/controllers/pages_controller.rb")
    File.write(view, File.read(view).sub("<h1>Fool's gold</h1>", "<h1>Real gold</h1>"))
    File.write(controller, File.read(controller).sub("@visits = session[:visits]", "@visits = -1"))
    tab.reload
    see "text", tab.text
    good = File.read(controller)
    File.write(controller, good.sub("def home", "def home("))
    see "a mistake", "#{tab.reload.status} #{tab.text[/\A[^\n]*\n[^\n]*/]}"
    File.write(controller, good)
    see "mended", tab.reload.status
  end

  step "the end" do
    ann, bob = talker("Ann"), talker("Bob")
    tab.go("/")
    # In production a service manager ends it; in development somebody at the keyboard.
    seconds, status = contender.stop(contender.production? ? :TERM : :INT)
    # Ours closes WebSockets over a second, so that not all of them come back to the next server at once, and gives
    # connections that were just used a second to bring one more request.
    see "seconds", Figure.new(seconds, 3, " s")
    see "exit status", status
    see "sockets closed with", within(5) { ann.evaluate("chat.closed[0]") }
    see "a page afterwards", tab.go("/")&.error
    bob.close
  end
end
