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

  FILM_SECONDS = 60
  FRAMES_PER_SECOND = 5

  # A minute of grains in motion, some 17 MB: the browser encodes it (VP8), and a WebM is made of the frames.
  def film(file, tab)
    frames = tab.run(<<~JS, patience: 120)
      const frames = [];
      const take = (chunk) => {
        const bytes = new Uint8Array(chunk.byteLength);
        chunk.copyTo(bytes);
        frames.push(btoa(bytes.reduce((text, byte) => text + String.fromCharCode(byte), "")));
      };
      const encoder = new VideoEncoder({ output: take, error: (error) => console.error(error) });
      encoder.configure({ codec: "vp8", width: 320, height: 180, bitrate: 3000000, framerate: #{FRAMES_PER_SECOND} });
      const image = new ImageData(320, 180);
      const points = new Uint32Array(image.data.buffer);
      const canvas = new OffscreenCanvas(320, 180);
      for (let at = 0; at < #{FILM_SECONDS * FRAMES_PER_SECOND}; at++) {
        for (let one = 0; one < points.length; one++) {
          points[one] = Math.imul(Math.imul(one, 2654435761) + at * 40503, 2246822519) | 0xff000000;
        }
        canvas.getContext("2d").putImageData(image, 0, 0);
        const frame = new VideoFrame(canvas, { timestamp: at * 1000000 / #{FRAMES_PER_SECOND} });
        encoder.encode(frame, { keyFrame: at % 10 === 0 });
        frame.close();
        while (encoder.encodeQueueSize > 10) await new Promise((done) => setTimeout(done, 5));
      }
      await encoder.flush();
      return frames;
    JS
    File.binwrite(file, webm(frames.map { |frame| frame.unpack1("m") }, 320, 180))
    file
  end

  # A WebM of frames of VP8, every tenth of which stands for itself; where they are is told before them.
  def webm(frames, width, height)
    step = 1000 / FRAMES_PER_SECOND
    clusters = frames.each_slice(10).with_index.map do |slice, at|
      blocks = slice.each_with_index.map do |frame, place|
        element("A3", [0x81, place * step, place.zero? ? 0x80 : 0].pack("Cs>C") + frame)
      end
      element("1F43B675", number("E7", at * 10 * step) + blocks.join)
    end
    head = element("1549A966", number("2AD7B1", 1_000_000) + element("4489", [frames.size * step.to_f].pack("G")) +
      element("4D80", "browser") + element("5741", "browser")) +
      element("1654AE6B", element("AE", number("D7", 1) + number("73C5", 1) + number("83", 1) +
        element("86", "V_VP8") + element("E0", number("B0", width) + number("BA", height))))
    element("1A45DFA3", number("4286", 1) + number("42F7", 1) + number("42F2", 4) + number("42F3", 8) +
      element("4282", "webm") + number("4287", 2) + number("4285", 2)) +
      element("18538067", head + cues(clusters, head.bytesize, 10 * step) + clusters.join)
  end

  # The index: all numbers have eight bytes, so that its own length is known.
  def cues(clusters, before, step)
    points = lambda do |place|
      found = clusters.each_with_index.map do |cluster, at|
        point = element("BB", number("B3", at * step) + element("B7", number("F7", 1) + number("F1", place)))
        place += cluster.bytesize
        point
      end
      element("1C53BB6B", found.join)
    end
    points.call(before + points.call(0).bytesize)
  end

  # An element of EBML: its name, its length in eight bytes, and what is in it.
  def element(name, bytes) = [name].pack("H*") + [(1 << 56) | bytes.bytesize].pack("Q>") + bytes.b

  def number(name, value) = element(name, [value].pack("Q>"))
end
