# frozen_string_literal: true

# Every kind of answer an application may give, and the environment it is given.

APPLICATION = File.read(File.expand_path("answers.ru", __dir__))

module AnswersTest
  F = FoolsGold::Frames
  H = Harness

  def self.run(worker)
    whole(worker)
    wrong(worker)
    pieces(worker)
    rest(worker)
  end

  def self.whole(worker)
    H.check("a string in an array") do
      answer = worker.get("/", seq: 4_000_000_000)
      H.same([F::ANSWER, 4_000_000_000, 200, 0, [%w[content-type text/plain]], "hello"], answer.to_a)
    end
    H.check("a whole body is in one frame, however it is given; one with `close` is closed after its answer") do
      { "/two" => 0, "/listed" => F::LATER, "/gathered" => F::LATER }.each do |path, flags|
        answer = worker.get(path)
        H.same([path, F::ANSWER, flags, "ab"], [path, answer.kind, answer.flags, answer.body])
      end
    end
    H.check("HEAD asks no body that is not complete") do
      { "/each" => F::UNASKED | F::LATER, "/stream" => F::UNASKED, "/two" => 0,
        "/file" => F::FILE }.each do |path, flags|
        H.same([path, flags], [path, worker.get(path, method: "HEAD").flags])
      end
      head = worker.get("/big", method: "HEAD")
      H.same([F::UNASKED, %w[content-length 700001]], [head.flags, head.headers.last])
    end
    H.check("whether there is a body is decided by the client's method, and not by one that a middleware has set") do
      H.same("ab", worker.text("/method", method: "POST", query: "HEAD"))
      H.same(F::UNASKED | F::LATER, worker.get("/method", method: "HEAD", query: "GET").flags)
    end
    H.check("several values of a header are lines of one") do
      H.same([["set-cookie", "a=1\nb=2"]], worker.get("/array").headers)
    end
  end

  def self.wrong(worker)
    { "/nil" => /status must be an Integer.*nil/, "/status" => /"many"/, "/headers" => /must be a Hash, not Integer/,
      "/name" => /name of a header must be a String, not 5/, "/lines" => /set-cookie has a line feed/,
      "/nul" => /"x" has a NUL/, "/nobody" => /body must respond to each or call, but it is nil/,
      "/neither" => /Object has neither/, "/early" => /status 103 cannot end/ }
      .each do |path, pattern|
        H.check("wrong answer #{path}") do
          answer = worker.get(path)
          H.same(F::BAD, answer.kind)
          H.match(pattern, answer.body)
        end
      end
    { "/raise" => /\AArgumentError\0caf\u00e9\0.*config.ru/m, "/exit" => /\ASystemExit\0exit/,
      "/throw" => /\AUncaughtThrowError/, "/deep" => /\ASystemStackError/, "/load" => /\ALoadError/,
      "/failing-early" => /\ARuntimeError\0in each/ }
      .each do |path, pattern|
        H.check("fault #{path}") do
          answer = worker.get(path)
          H.same(F::FAULT, answer.kind)
          H.match(pattern, answer.body.force_encoding("UTF-8"))
        end
      end
  end

  def self.pieces(worker)
    H.check("each, call") do
      [["/each", %w[a b]], ["/stream", %w[a b c]]].each do |path, parts|
        head = worker.get(path)
        H.same([F::MORE, "", [%w[content-type text/plain]]], [head.flags, head.body, head.headers])
        parts.each { |part| H.same([F::CHUNK, part], worker.answer.to_a.values_at(0, -1)) }
        H.same(F::END_OF_BODY, worker.answer.kind)
      end
    end
    H.check("a stream has the writing methods of a socket") do
      H.same("a\n\u00e9\n1\nbc07defg[\"d\", 2, 1]".b, worker.text("/printed").b)
    end
    H.check("a callable may leave its stream to another thread, of its own or of a pool") do
      %w[pooled threaded open].each { |word| H.same(word, worker.text("/#{word}")) }
    end
    H.check("a callable that writes nothing and closes nothing keeps no thread") do
      H.same("", worker.text("/nothing"))
    end
    H.check("short strings of a large array are joined") do
      head = worker.get("/joined")
      H.same([F::MORE, %w[content-length 735539]], [head.flags, head.headers.last])
      parts = worker.answers
      H.same([70_000, *([66_000] * 9), 6000, 65_536, 3, 0], parts.map { |part| part.body.bytesize })
      whole = ["y" * 70_000, "\u00e9" * 300_000, "z" * 65_536, "\xff", "\u00e9"].map(&:b).join
      H.same(true, parts.map(&:body).join == whole)
    end
    H.check("a large array") do
      head = worker.get("/big")
      H.same([F::MORE, %w[content-length 700001]], [head.flags, head.headers.last])
      sizes = Array.new(4) { worker.answer }.map { |answer| [answer.kind, answer.body.bytesize] }
      H.same([[F::CHUNK, 524_288], [F::CHUNK, 175_712], [F::CHUNK, 1], [F::END_OF_BODY, 0]], sizes)
    end
  end

  def self.rest(worker)
    H.check("a file") do
      answer = worker.get("/file")
      H.same([F::FILE, File.realpath(RbConfig.ruby)], [answer.flags, File.realpath(answer.body)])
    end
    H.check("what comes after an answer with a file waits until that is open") do
      H.same(F::FILE | F::LATER, worker.get("/file-after").flags)
      H.same(nil, IO.select(worker.slots, nil, nil, 0.2))
      worker.release(0)
      H.same([F::FREE, ""], worker.frame)
    end
    H.check("a file that the request has made") do
      answer = worker.get("/file-made")
      H.same([F::LATER, [["a", ""], %w[content-length 4]], "made"], [answer.flags, answer.headers, answer.body])
      answer = worker.get("/file-made", method: "HEAD")
      H.same([F::UNASKED | F::LATER, ""], [answer.flags, answer.body])
    end
    H.check("a long file that the request has made") { H.same("long " * 200_000, worker.text("/file-long")) }
    H.check("early hints") do
      H.same([F::HINTS, "\0\x01link\0</a.css>\0".b], worker.get("/hints").to_a.values_at(0, -1))
      H.same("x", worker.answer.body)
    end
    H.check("early hints that no answer may have are left out") do
      H.same([F::HINTS, "\0\x01link\0</b.css>\0".b], worker.get("/hints-odd").to_a.values_at(0, -1))
      H.same("x", worker.answer.body)
    end
    H.check("the environment") do
      text = worker.get("/env").body
      H.match(/"rack.multithread"=>false, "rack.multiprocess"=>true, "rack.run_once"=>false/, text.gsub(" => ", "=>"))
      H.match(/\[#<Encoding:(ASCII-8BIT|BINARY \(ASCII-8BIT\))>\]\z/, text)
    end
  end
end

Front.run(APPLICATION) { |front| AnswersTest.run(front.fork) }
