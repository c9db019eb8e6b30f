# Steps: pages, forms, redirects, errors, fetch.

require_relative "script"

class Script
  step "the home page" do
    see_page tab.go("/")
    see_page tab.reload, "again"
    see "cookies", visitor.cookies.map { |one| one.slice("name", "path", "httpOnly", "sameSite", "secure", "session") }
  end

  step "a chain of redirects" do
    see_page tab.go("/chain/5")
    see "on the way", tab.requests.select { |one| one.type == "Document" }.map { |one| [one.status, plain(one.url)] }
    endless = tab.go("/chain/40")
    see "too many", endless&.error
  end

  # In development the page of an error lists what is another on each server, such as the environment.
  def error_fields(request)
    fields = header_fields(request)
    contender.production? ? fields : fields.except("content-length")
  end

  step "a page that is not there" do
    request = tab.go("/nothing/here?x=1")
    see "status", request.status
    see "text", contender.production? ? tab.text : tab.text[/No route matches[^\n]*/].to_s
    see "headers", error_fields(request)
  end

  step "an exception" do
    request = tab.go("/boom")
    see "status", request.status
    # In development: the exception's page, with the code around.
    see "text", contender.production? ? tab.text : tab.text[/\A.*?raise ArgumentError[^\n]*/m].to_s.gsub(/:\d{5}/, "")
    frames = "document.querySelectorAll('#traces-for-0 a, .trace-frames').length > 5"
    see "frames", tab.evaluate(frames) unless contender.production?
    see "headers", error_fields(request)
  end

  step "requests that are not right" do
    tab.go("/")
    ["/version?a=%ff", "/version?a[]=1&a[b]=2", "/%ff", "/echo?x=#{"y" * 6000}", "/tracks/0",
      "/rails/active_storage/blobs/redirect/x/y", "/exports/file?x=%00", "//", "/a%2fb", "/.well-known/x",
      "/../../etc/passwd"].each do |path|
      see path[0, 40], tab.run("return (await fetch(location.origin + #{path.to_json})).status")
    end
  end

  step "what has not changed" do
    tab.go("/")
    see "answers", tab.run(<<~JS)
      const first = await fetch("/fresh", { cache: "no-store" });
      const ask = (name, from) => {
        return fetch("/fresh", { cache: "no-store", headers: { [name]: first.headers.get(from) } });
      };
      const again = await ask("If-None-Match", "etag");
      const since = await ask("If-Modified-Since", "last-modified");
      const wild = await fetch("/fresh", { method: "HEAD", cache: "no-store" });
      const names = ["content-length", "cache-control"];
      return [first, again, since, wild].map((one) => [one.status, ...names.map((name) => one.headers.get(name))]);
    JS
  end

  step "a word is asked" do
    tab.go("/")
    see "answers", tab.run(<<~JS)
      const ask = async (word) => {
        const headers = word ? { Authorization: "Basic " + btoa(word) } : {};
        const answer = await fetch("/secret", { headers, credentials: "omit" });
        return [answer.status, answer.headers.get("www-authenticate"), (await answer.text()).trim()];
      };
      return [await ask(""), await ask("pyrite:coal"), await ask("pyrite:gold")];
    JS
  end

  step "sixty pictures at once" do
    tab.go("/tiles?count=60")
    see "shown", tab.evaluate("[...document.images].filter((one) => one.complete && one.naturalWidth === 24).length")
    tiles = tab.requests.select { |one| one.url.include?("/tiles/") }
    see "statuses", tiles.map(&:status).tally
    see "headers", header_fields(tiles.first)
  end

  step "compressed and static files" do
    tab.go("/")
    see "answers", tab.run(<<~JS)
      const ask = async (path, headers = {}) => {
        const answer = await fetch(path, { headers, cache: "no-store" });
        const text = await answer.text();
        const names = ["content-type", "content-encoding", "content-length", "content-range", "vary", "cache-control",
          "accept-ranges"];
        return [path, answer.status, text.length, text.slice(0, 12), ...names.map((name) => answer.headers.get(name))];
      };
      return [await ask("/deflated"), await ask("/robots.txt"), await ask("/style.css", { Range: "bytes=5-9" }),
        await ask("/style.css", { Range: "bytes=-4" }), await ask("/style.css", { Range: "bytes=999999-" }),
        await ask("/icon.svg"),
        await ask("/style.css", { Range: "bytes=0-1,4-5" }).then((all) => [all[0], all[1]])];
    JS
  end

  step "signing up" do
    tab.go("/account")
    see "sent to", tab.path
    see "told", tab.text
    tab.fill("#account_name", "")
    tab.fill("#account_email", "nobody")
    see_page tab.arriving { tab.click("input[type=submit]") }, "not right"
    tab.fill("#account_name", "Zoë <b>Çelik</b> 金")
    tab.fill("#account_email", "zoe@example.org")
    see_page tab.arriving { tab.click("input[type=submit]") }, "right"
    see_page tab.reload, "the notice is gone"
    tab.go("/")
    see "known", tab.text
  end

  step "the same address again" do
    other = newcomer
    page = other.tab
    page.go("/account/new")
    page.fill("#account_name", "Somebody else")
    page.fill("#account_email", "zoe@example.org")
    request = page.arriving { page.click("input[type=submit]") }
    see "answer", "#{request.status} #{page.text}"
  end

  step "a form without its token" do
    tab.go("/account/new")
    tab.evaluate("document.querySelector('input[name=authenticity_token]').value = 'x'.repeat(86)")
    tab.fill("#account_name", "Mallory")
    request = tab.arriving { tab.click("input[type=submit]") }
    see "status", request.status
    see "text", contender.production? ? tab.text : tab.text[/InvalidAuthenticityToken[^\n]*/]
    see "by fetch", tab.run(<<~JS)
      const ask = async (token) => (await fetch("/account", { method: "POST", redirect: "manual",
        headers: { "Content-Type": "application/x-www-form-urlencoded", ...(token ? { "X-CSRF-Token": token } : {}) },
        body: "account[name]=" })).status;
      const page = new DOMParser().parseFromString(await (await fetch("/")).text(), "text/html");
      return [await ask(), await ask(page.querySelector("meta[name=csrf-token]").content)];
    JS
  end

  step "signing out" do
    tab.go("/account")
    see_page tab.arriving { tab.click("main form button") }
    see "afterwards", tab.go("/account") && "#{tab.path} #{tab.text}"
  end

  step "a long letter" do
    tab.go("/letter/new")
    text = (1..60_000).map { |line| "#{line} pyrite & gold é\n" }.join
    tab.run(<<~JS)
      const lines = Array.from({ length: 60000 }, (_, at) => `${at + 1} pyrite & gold é\\n`);
      document.querySelector("textarea").value = lines.join("");
    JS
    see_page tab.arriving { tab.click("input[type=submit]") }
    arrived = tab.evaluate("document.getElementById('digest').textContent")
    see "is what was written", arrived == Digest::SHA256.hexdigest(text)
  end

  step "fetch in all ways" do
    tab.go("/")
    see "answers", tab.run(<<~JS)
      const seen = [];
      const ask = async (name, path, options) => {
        try {
          const answer = await fetch(path, options);
          const isJSON = answer.headers.get("content-type")?.includes("json");
          const told = isJSON ? await answer.json() : (await answer.text()).length;
          seen.push([name, answer.status, answer.redirected, answer.headers.get("x-echo"), told]);
        } catch (error) { seen.push([name, String(error)]); }
      };
      const json = { "Content-Type": "application/json" };
      const body = JSON.stringify({ name: "Zoë", list: [1, null, { deep: true }], text: "x".repeat(100000) });
      for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
        const body = JSON.stringify({ n: 1, list: [1, { a: null }] });
        await ask(method, "/echo?a=1&b[]=2&b[]=3", { method, headers: json, body });
      }
      await ask("long", "/echo?long", { method: "POST", headers: { "Content-Type": "text/plain" }, body });
      await ask("OPTIONS", "/echo", { method: "OPTIONS" });
      await ask("empty", "/echo", { method: "POST" });
      await ask("blob", "/echo", { method: "POST", body: new Blob([new Uint8Array(3000000)]) });
      await ask("typed", "/echo", { method: "POST", body: new Blob([new Uint8Array(3000000)], { type: "image/raw" }) });
      const form = new FormData();
      form.append("a", "é"); form.append("file", new Blob(["gold"]), "a \\"b\\" ü.txt");
      await ask("form", "/echo", { method: "POST", body: form });
      await ask("not JSON", "/echo", { method: "POST", headers: json, body: "{\\"a\\":" });
      const token = document.querySelector("meta[name=csrf-token]").content;
      await ask("kept", "/keep", { method: "POST", headers: { "X-CSRF-Token": token, ...json }, body: "{\\"a\\":1}" });
      const ajax = { "X-Requested-With": "XMLHttpRequest", "X_Odd": "1", "Cache-Control": "no-cache" };
      await ask("ajax", "/echo", { headers: ajax });
      const stream = new ReadableStream({ start(to) { to.enqueue(new TextEncoder().encode("gold")); to.close(); } });
      await ask("stream", "/echo", { method: "POST", duplex: "half", body: stream });
      return seen.map((row) => JSON.stringify(row));
    JS
  end

  step "requests that are given up" do
    tab.go("/")
    see "given up", tab.run(<<~JS)
      const stop = new AbortController();
      const slow = fetch("/slow?s=3", { signal: stop.signal }).catch((error) => error.name);
      setTimeout(() => stop.abort(), 300);
      return [await slow, (await fetch("/version")).status];
    JS
    # A page that is left before it is there.
    tab.evaluate("location.href = '/slow?s=3'; 1")
    sleep 0.2
    see "left", tab.go("/version").status
    see "beacon", tab.run("return navigator.sendBeacon('/echo', 'x'.repeat(1000))")
  end

  step "slow pages beside quick ones" do
    tab.go("/")
    see "answers", tab.run(<<~JS)
      let over = false;
      const slow = fetch("/slow?s=2").then((answer) => { over = true; return answer.status; });
      const ask = async () => {
        const { status } = await fetch("/version", { cache: "no-store" });
        return [status, over ? "after it" : "before it"];
      };
      const quick = await Promise.all(Array.from({ length: 4 }, ask));
      return [await slow, quick];
    JS
  end
end
