# frozen_string_literal: true

# A plain and a native slot without a front: the connection of each is one end of a socket pair.

require "rbconfig"
require "socket"
require "stringio"
require "tmpdir"
require_relative "../ruby_test/harness"
%w[errors frames wire log shapes environment input headers hijack hints stream output rest claims channel slot
   delivery answer].each { |name| require_relative "../ruby/#{name}" }

builder = File.expand_path("../native/build.rb", __dir__)
NATIVE = ENV["TEST_NATIVE"] || ENV.fetch("XDG_CACHE_HOME") { File.expand_path("~/.cache") }.then do |cache|
  IO.popen([RbConfig.ruby, builder, File.join(cache, "foolsgold/native")], &:read).chomp
end
require NATIVE

# Both ends of a connection, with helpers for tests.
class Pair
  F = FoolsGold::Frames

  # The wire that a slot opens its connection with.
  Wire = Struct.new(:io) do
    def open_blocking(*)
      io.fcntl(F::F_SETFL, io.fcntl(F::F_GETFL, 0) & ~::File::NONBLOCK)
      io
    end
  end

  attr_reader :slot, :front

  def self.each(**options)
    [FoolsGold::Slot, FoolsGold::NativeSlot].map { |slot| yield new(slot, **options) }
  end

  def initialize(slot = FoolsGold::NativeSlot, threads: 1)
    @front, @back = UNIXSocket.pair
    setup = Hash.new("").merge!("threads" => threads.to_s, "software" => "FoolsGold/0", "early_hints" => "yes")
    @slot = slot.new(Wire.new(@back), 1, 0, FoolsGold::Environment.new(setup))
  end

  def shape(number, *pairs)
    @front.write(F.frame(F::SHAPE, [number, F.list(pairs)].pack("na*")))
  end

  def request(seq, shape, values, body = "", how = body.empty? ? 0 : 1)
    @front.write(Pair.frame(seq, shape, values, body, how))
  end

  def self.frame(seq, shape, values, body = "", how = body.empty? ? 0 : 1)
    F.frame(F::REQUEST, [seq, shape, how, values.bytesize, values, body].pack("NnCNa*a*"))
  end

  # What the slot has written.
  def written
    @slot.flush
    @front.read_nonblock(1 << 20, exception: false).then { |bytes| bytes == :wait_readable ? "" : bytes }
  end

  def close
    @front.close
  end

  # Closes the slot's end of the connection.
  def hang_up
    @back.close
  end
end
