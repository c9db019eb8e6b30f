# Files to upload, made by code.

require "zlib"

module Samples
  RATE = 44_100
  SECONDS = 120

  module_function

  # Two minutes of a tone that rises: 20 MB, so that nobody has all of it before he seeks.
  def wave(file)
    frames = RATE * SECONDS
    table = Array.new(RATE) { |at| (Math.sin(at * 2 * Math::PI / RATE) * 8_000).round }
    place = 0
    File.open(file, "wb") do |out|
      out.write(["RIFF", 36 + frames * 4, "WAVEfmt ", 16, 1, 2, RATE, RATE * 4, 4, 16, "data", frames * 4]
        .pack("a4Va8VvvVVvva4V"))
      SECONDS.times do |second|
        samples = Array.new(RATE) { table[place = (place + 200 + second * 5) % RATE] }
        out.write(samples.flat_map { |one| [one, one] }.pack("s<*"))
      end
    end
    file
  end

  # A picture of 64 by 64 points.
  def picture(file, red)
    rows = Array.new(64) { |y| [0, *Array.new(64) { |x| [red, x * 4, y * 4] }.flatten].pack("C*") }.join
    chunk = ->(type, data) { [data.bytesize, type, data, Zlib.crc32(type + data)].pack("Na4a*N") }
    File.binwrite(file, "\x89PNG\r\n\x1A\n".b + chunk.("IHDR", [64, 64, 8, 2, 0, 0, 0].pack("NNC5")) +
      chunk.("IDAT", Zlib.deflate(rows)) + chunk.("IEND", ""))
    file
  end
end
