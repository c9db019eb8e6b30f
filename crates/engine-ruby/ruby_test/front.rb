# frozen_string_literal: true

# A front in Ruby, which speaks PROTOCOL.md to a real mold and its real workers.

require "socket"
require "tmpdir"
require "tempfile"
require "timeout"
%w[errors frames wire claims].each { |name| require_relative "../ruby/#{name}" }

# One mold with its workers, and the connections they open, by role.
class Front
  F = FoolsGold::Frames
  DEADLINE = 5

  attr_reader :mold, :pid, :ready, :folder, :logs

  def self.run(rackup, **options)
    front = new(rackup, **options)
    yield front
  ensure
    front&.close
  end

  # A preloading mold whose application finds the port of a listener in PORT.
  def self.with_listener(rackup, **options, &block)
    listener = TCPServer.new("127.0.0.1", 0)
    run("PORT = #{listener.addr[1]}\n#{rackup}", preload: "yes", **options, &block)
  ensure
    listener&.close
  end

  # `env` has further environment variables of the mold; `setup` has values of SETUP.
  def initialize(rackup, hooks: nil, ruby: ENV.fetch("TEST_RUBY", "ruby"), env: {}, **setup)
    @folder = Dir.mktmpdir("foolsgold")
    @server = UNIXServer.new(File.join(@folder, "wire"))
    @waiting = []
    @logs = []
    @setup = { rackup: file("config.ru", rackup), environment: "test", threads: "1", gemfile: "",
               native: ENV.fetch("TEST_NATIVE", ""), hooks: hooks ? file("hooks.rb", hooks) : "",
               software: "FoolsGold/0", files: "yes", tag: "test",
               early_hints: "yes" }.merge(setup)
    start(ruby, env)
  end

  def file(name, text)
    File.join(@folder, name).tap { |path| File.write(path, text) }
  end

  def start(ruby, env)
    wire = { "FOOLS_GOLD_WIRE" => File.join(@folder, "wire"), "FOOLS_GOLD_TOKEN" => "secret" }
    @pid = spawn(env.merge(wire), *ruby.split, File.expand_path("../ruby/mold.rb", __dir__), pgroup: true)
    @mold = accept(F::MOLD_ROLE)
    @mold.write(F.frame(F::SETUP, F.list(@setup.to_a.flatten)))
    @ready = await(@mold, F::READY, F::FAILED)
  end

  # The next connection of a role; those of other roles wait.
  def accept(role)
    Timeout.timeout(DEADLINE * 4) do
      loop do
        found = @waiting.index { |other, _| other == role }
        return @waiting.delete_at(found).last if found

        io = @server.accept
        _, hello = F.read(io)
        version, its_role, *numbers = hello.unpack("CCNNNN")
        raise "bad HELLO #{hello.inspect}" unless version == 1 && hello.byteslice(18, 99) == "secret"

        io.instance_variable_set(:@numbers, numbers)
        @waiting << [its_role, io]
      end
    end
  end

  # The next frame of one of these kinds; log lines are kept.
  def await(io, *kinds)
    Timeout.timeout(DEADLINE * 4) do
      loop do
        kind, payload = F.read(io)
        return [kind, payload] if kinds.include?(kind)
        raise "waited for #{kinds}, got #{kind.inspect} #{payload.inspect}" unless kind == F::LOG

        @logs << payload.byteslice(1, payload.bytesize).force_encoding("UTF-8")
      end
    end
  end

  # Orders a worker that the mold refuses to fork, since it would share connections; returns their descriptions.
  def refused
    @mold.write(F.frame(F::FORK, [1, 0].pack("NN")))
    F.strings(await(@mold, F::SHARED).last)
  end

  # Orders a worker; gives its control and its slots.
  def fork(number = 1)
    @mold.write(F.frame(F::FORK, [number, number - 1].pack("NN")))
    _, payload = await(@mold, F::FORKED)
    control = accept(F::CONTROL_ROLE)
    claims = give_claims unless F.strings(@ready.last).each_slice(2).include?(%w[parallel yes])
    kind, state = await(control, F::READY, F::FAILED)
    raise F.strings(state).join("\n") if kind == F::FAILED

    slots = Array.new(@setup[:threads].to_i) { accept(F::SLOT_ROLE) }
    slots.sort_by! { |io| io.instance_variable_get(:@numbers)[1] }
    Worker.new(self, payload.unpack("NN").last, control, slots, claims)
  end

  # Gives a worker the file that it shares with the front, and returns it.
  def give_claims
    file = Tempfile.create("claims", @folder)
    file.truncate(FoolsGold::Claims::CLAIM * 1024)
    accept(F::CLAIMS_ROLE).tap { |io| io.send_io(file) }.close
    file
  end

  def close
    [@mold, @server, *@waiting.map(&:last)].compact.each { |io| io.close unless io.closed? }
    Timeout.timeout(DEADLINE) { Process.wait(@pid) }
  rescue Timeout::Error
    Process.kill("KILL", @pid)
    Process.wait(@pid)
  rescue Errno::ECHILD
    nil
  ensure
    FileUtils.rm_rf(@folder)
  end

  # A frame of a slot, taken apart.
  Answer = Struct.new(:kind, :seq, :status, :flags, :headers, :body) do
    def self.read(frame)
      kind, payload = frame
      case kind
      when F::ANSWER
        seq, status, flags, pairs, length = payload.unpack("NnCnN")
        list = F.strings(payload.byteslice(13, length))
        raise "#{pairs} pairs announced, #{list.inspect} sent" unless list.size == pairs * 2

        new(kind, seq, status, flags, list.each_slice(2).to_a, payload.byteslice(13 + length, payload.bytesize))
      when F::FAULT, F::BAD
        new(kind, payload.unpack1("N"), nil, payload.getbyte(4), nil, payload.byteslice(5, 99_999))
      when F::HINTS then new(kind, payload.unpack1("N"), nil, nil, nil, payload.byteslice(4, 99_999))
      else new(kind, nil, nil, nil, nil, payload)
      end
    end
  end

  # A forked worker, as the front sees it.
  Worker = Struct.new(:front, :pid, :control, :slots, :claims) do
    def order(kind, slot = 0, seq = 0)
      control.write(F.frame(kind, [slot, seq].pack("NN")))
    end

    # Withdraws the requests of the first slot up to this number; returns the number of the one that was begun last.
    def withdraw(seq)
      claims.pwrite([seq].pack("L"), 4)
      claims.pread(4, 0).unpack1("L")
    end

    # Pings the worker and returns its answer: by then it has read all orders that were sent before.
    def ping
      control.write(F.frame(F::PING, ""))
      front.await(control, F::PING)
    end

    # The body of an answer, of one frame or many, and of one whose stream was left to other threads.
    def text(path, **more)
      answer = get(path, **more)
      text = answer.body.dup
      is_more = (answer.flags & F::MORE) != 0
      text << answer.body while is_more && (answer = self.answer).kind == F::CHUNK
      answer.kind == F::LEFT ? text + rest : text
    end

    # The rest of such a body, whose end the front knows from a frame. A connection without any frame is of a stream
    # that was closed while it was opened.
    def rest
      io = front.accept(F::REST_ROLE)
      text = "".b
      kind, payload = Timeout.timeout(DEADLINE) { F.read(io) }
      return rest unless kind

      while kind == F::CHUNK
        text << payload
        kind, payload = Timeout.timeout(DEADLINE) { F.read(io) }
      end
      kind == F::END_OF_BODY ? text : raise("the rest of a body ends with #{kind.inspect}")
    ensure
      io&.close
    end

    # Another for each request of a slot.
    def number
      @number = (@number || 1000) + 1
    end

    # A request with shape 0, and its first frame.
    def get(path, slot: 0, seq: number, **more)
      ask(path, slot: slot, seq: seq, **more)
      answer(slot)
    end

    def ask(path, slot: 0, **more)
      slots[slot].write(request(path, **more))
    end

    # The frame of a request.
    def request(path, seq: number, method: "GET", query: "", body: nil, how: body ? 1 : 0)
      pairs = { "REQUEST_METHOD" => method, "SCRIPT_NAME" => "", "PATH_INFO" => path, "QUERY_STRING" => query,
                "REQUEST_URI" => path, "SERVER_PROTOCOL" => "HTTP/1.1", "HTTP_VERSION" => "HTTP/1.1",
                "rack.url_scheme" => "http", "SERVER_NAME" => "localhost", "SERVER_PORT" => "80",
                "REMOTE_ADDR" => "127.0.0.1", "HTTP_HOST" => "localhost", "HTTP_X_REQUEST_ID" => "the-id" }
      pairs["CONTENT_LENGTH"] = body.bytesize.to_s if how == 1
      values = pairs.to_a.flatten.map { |string| "#{string.b}\0" }.join
      F.frame(F::REQUEST, [seq, 0, how, values.bytesize, values, body].pack("NnCNa*a*"))
    end

    # The next frame of a slot, whatever it is.
    def frame(slot = 0)
      Timeout.timeout(DEADLINE) { F.read(slots[slot]) }
    end

    def answer(slot = 0)
      loop do
        found = frame(slot) or raise "slot #{slot} has ended"
        return Answer.read(found) if found[0] != F::FREE
      end
    end

    # The frames of an answer up to its end.
    def answers
      found = [answer]
      found << answer until [F::END_OF_BODY, F::FAULT].include?(found.last.kind)
      found
    end

    # Sends RELEASE: the front has read this many bytes of the String that the first slot has lent.
    def release(bytes)
      control.write(F.frame(F::RELEASE, [0, bytes].pack("NQ>")))
    end
  end
end
