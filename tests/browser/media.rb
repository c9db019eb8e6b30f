# Steps: uploads and what Active Storage serves of them, streams, downloads.

require_relative "script"
require_relative "samples"

class Script
  def sound = @sound ||= Samples.wave(File.join(@folder, "rising tone.wav"))

  # Made once, since no encoder promises the same bytes again.
  def film
    @film ||= File.join(@folder, "grains in motion.webm").tap do |file|
      Samples.film(file, tab) unless File.exist?(file)
    end
  end

  def pictures = @pictures ||= [0, 200].map { |red| Samples.picture(File.join(@folder, "picture é #{red}.png"), red) }

  step "an upload" do
    tab.go("/tracks/new")
    tab.fill("#track_title", "")
    tab.choose("#track_sound", pictures.first(1))
    see_page tab.arriving { tab.click("input[type=submit]") }, "no title"
    tab.fill("#track_title", "A rising tone")
    tab.choose("#track_sound", [sound])
    tab.choose("#track_film", [film])
    tab.choose("#track_pictures", pictures)
    see_page tab.arriving { tab.click("input[type=submit]") }
    @track = tab.path
    tab.wait_for("[...document.images].every((one) => one.complete)")
    see "pictures", tab.evaluate("[...document.images].map((one) => [one.alt, one.naturalWidth, one.naturalHeight])")
    shown = tab.requests.select { |one| one.type == "Image" && one.url.include?("/disk/") }
    see "headers of a picture", header_fields(shown.min_by { |one| File.basename(one.url) })
  end

  step "hearing and seeking" do
    tab.go(@track)
    see "by the disk", play("sound", [110, 30, 100])
    see "answers", media_answers("rising", File.size(sound))
    see "by the proxy", play("proxied", [110, 30, 100])
    see "answers of the proxy", media_answers("rising", File.size(sound), "/proxy/")
  end

  step "watching and seeking" do
    tab.go(@track)
    see "played", play("film", [50, 10, 40])
    see "size", tab.evaluate("[film.videoWidth, film.videoHeight]")
    see "answers", media_answers("grains", File.size(film))
  end

  # Loads, seeks to the places, and plays.
  def play(id, places)
    tab.run(<<~JS)
      const media = document.getElementById("#{id}");
      const event = (name) => new Promise((done, fail) => {
        media.addEventListener(name, done, { once: true });
        const broken = () => fail(new Error(`media error ${media.error.code}: ${media.error.message}`));
        media.addEventListener("error", broken, { once: true });
        setTimeout(() => fail(new Error(`no ${name} in 15 s`)), 15000);
      });
      if (media.readyState < 1) {
        media.preload = "metadata";
        const ready = event("loadedmetadata");
        if (media.readyState < 1) await ready;
      }
      const seen = [Math.round(media.duration)];
      for (const place of #{places}) {
        const sought = event("seeked");
        media.currentTime = place;
        await sought;
        seen.push(Math.round(media.currentTime));
      }
      const began = media.currentTime;
      await media.play();
      await new Promise((done) => setTimeout(done, 500));
      media.pause();
      seen.push(media.currentTime > began);
      return seen;
    JS
  rescue BrowserError => error
    error.message
  end

  # The answers to requests for parts; from which byte on depends on how quick the browser is.
  # Where there are two ways to a file, the browser may still be loading by the other one: `way` is a part of the URL.
  def media_answers(name, size, way = "/disk/")
    asked = tab.requests.select do |one|
      one.range && one.url.include?(name) && one.url.include?(way) && one.status.to_i >= 200 && one.status != 302
    end
    far = asked.any? { |one| one.range[/\d+/].to_i > 10_000_000 && one.status == 206 }
    names = %w[content-type accept-ranges cache-control content-disposition]
    fields = asked.map { |one| header_fields(one).slice(*names).to_a }
    { "statuses" => asked.map(&:status).uniq.sort, "a part far behind" => far, "headers" => fields.uniq,
      "ranges" => asked.all? { |one| (one.headers || {})["content-range"].to_s.end_with?("/#{size}") } }
  end

  step "parts of an upload" do
    tab.go(@track)
    see "answers", tab.run(<<~JS)
      const seen = [];
      for (const id of ["sound", "proxied"]) {
        for (const part of ["0-3", "100-", "-8", "99999999-", "8-11,20-23", "x", "0-"]) {
          const range = `bytes=${part}`;
          const answer = await fetch(document.getElementById(id).src, { headers: { Range: range }, cache: "no-store" });
          const bytes = new Uint8Array(await answer.arrayBuffer());
          const sum = bytes.reduce((all, one) => (all * 31 + one) % 1000003, 7);
          const isMultiple = /multipart/.test(answer.headers.get("content-type"));
          seen.push([id, range, answer.status, bytes.length, isMultiple || sum,
            answer.headers.get("content-range")].join(" ").replace(/[0-9]+ true/, "several"));
        }
      }
      return seen;
    JS
  end

  step "saving an upload" do
    tab.go(@track)
    saved = visitor.download { tab.click("#save") }
    see_download "file", saved
    see "as it was sent", saved[:bytes] == File.binread(sound)
  end

  step "a direct upload" do
    tab.go("/tracks/new")
    bytes = "gold " * 100_000
    see "answers", tab.run(<<~JS)
      const text = "gold ".repeat(100000);
      const token = document.querySelector("meta[name=csrf-token]").content;
      const blob = { filename: "direct.txt", byte_size: text.length, content_type: "text/plain",
        checksum: #{Digest::MD5.base64digest(bytes).to_json} };
      const made = await fetch("/rails/active_storage/direct_uploads", { method: "POST", body: JSON.stringify({ blob }),
        headers: { "Content-Type": "application/json", "X-CSRF-Token": token } });
      const told = await made.json();
      const { url, headers } = told.direct_upload;
      const put = await fetch(url, { method: "PUT", headers, body: text });
      const wrong = await fetch(url, { method: "PUT", headers, body: text.slice(1) + "x" });
      const back = await (await fetch(`/rails/active_storage/blobs/redirect/${told.signed_id}/direct.txt`)).text();
      return [made.status, put.status, wrong.status, back === text];
    JS
  end

  step "an upload that is given up" do
    tab.go("/tracks/new")
    see "answer", tab.run(<<~JS)
      const stop = new AbortController();
      const body = new Blob([new Uint8Array(60000000)]);
      const sent = fetch("/echo", { method: "POST", body, signal: stop.signal })
        .then((answer) => "answered", (error) => error.name);
      stop.abort();
      return [await sent, (await fetch("/version")).status];
    JS
  end

  step "deleting" do
    tab.go("/tracks/new")
    tab.fill("#track_title", "For a moment")
    tab.arriving { tab.click("input[type=submit]") }
    see_page tab.arriving { tab.click("main form button") }
  end

  step "downloads" do
    tab.go("/exports")
    %w[rows stream file data].each { |id| see_download id, visitor.download { tab.click("##{id}") } }
    see "inline: headers", header_fields(Struct.new(:fields).new(tab.run(<<~JS)))
      return Object.fromEntries((await fetch("/exports/data?disposition=inline")).headers);
    JS
    see "as they are made", tab.run(<<~JS)
      const seen = [];
      for (const path of ["/exports/rows", "/exports/stream"]) {
        const began = performance.now();
        const answer = await fetch(path, { cache: "no-store" });
        const reader = answer.body.getReader();
        let first = 0, length = 0, parts = 0;
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          first ||= performance.now() - began;
          length += value.length;
          parts += 1;
        }
        const isEarly = first < (performance.now() - began) / 2;
        const names = [...answer.headers.keys()].filter((one) => one !== "date");
        seen.push([path, answer.status, length, parts > 3, isEarly, ...names]);
      }
      return seen.map(String);
    JS
  end

  step "events" do
    see_page tab.go("/events")
    tab.click("#open")
    all = tab.wait_for("events.ticks.length >= 10")
    tab.click("#close")
    see "all", all
    see "ids", tab.evaluate("events.ticks.slice(0, 10).map((one) => one.id).join(' ')")
    see "one by one", tab.evaluate("events.ticks[4].time - events.ticks[0].time > 250")
    see "opened", tab.evaluate("document.getElementById('opened').textContent")
    streams = tab.requests.select { |one| one.type == "EventSource" }
    see "status", streams.map(&:status).uniq
    see "headers", header_fields(streams.first)
  end

  step "events for ever, and away" do
    tab.go("/")
    before = lost
    8.times do
      tab.go("/events")
      tab.click("#forever")
      tab.wait_for("events.ticks.length >= 3") || see("no events", true)
    end
    began = now
    see "status afterwards", tab.go("/").status
    see "at once", now - began < 5
    see "noticed", within(15) { lost - before >= 8 } || lost - before
  end

  def lost = tab.run("return (await (await fetch('/notes')).json())['an event stream has lost its client'] || 0")
end
