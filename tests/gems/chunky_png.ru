# gems: chunky_png
# ask: / /colors /draw
require "chunky_png"

run(lambda do |env|
  png = ChunkyPNG::Image.new(8, 6, ChunkyPNG::Color::TRANSPARENT)
  text =
    case env["PATH_INFO"]
    when "/colors"
      color = ChunkyPNG::Color.from_hex("#336699cc")
      hsl = ChunkyPNG::Color.to_hsl(color, true)
      [ChunkyPNG::Color("blue @ 0.5"), ChunkyPNG::Color.to_hex(color), hsl, ChunkyPNG::Color.compose(color, 0xff0000ff)]
    when "/draw"
      png.rect(1, 1, 5, 4, ChunkyPNG::Color.rgb(255, 0, 0), ChunkyPNG::Color("green"))
      png.line(0, 0, 7, 5, ChunkyPNG::Color("black"))
      png.rotate_right.flip_vertically.crop(0, 0, 4, 4).pixels
    else
      png[2, 3] = ChunkyPNG::Color.rgba(10, 20, 30, 128)
      again = ChunkyPNG::Image.from_blob(png.to_blob)
      [again == png, again.dimension.to_a, again[2, 3], png.to_datastream.header_chunk.width]
    end
  [200, {}, [text.inspect]]
end)
