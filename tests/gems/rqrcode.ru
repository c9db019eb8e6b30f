# gems: rqrcode rqrcode_core chunky_png
# ask: / /svg /core
require "rqrcode"

run(lambda do |env|
  code = RQRCode::QRCode.new("http://foolsgold.example/é", level: :q)
  text =
    case env["PATH_INFO"]
    when "/svg" then code.as_svg(color: "036", module_size: 3, standalone: true, use_path: true)
    when "/core"
      core = RQRCodeCore::QRCode.new([{ data: "ABC 123", mode: :alphanumeric }, { data: "0042", mode: :number }],
        size: 3)
      [core.version, core.module_count, core.modules.flatten.count(true),
        (RQRCodeCore::QRCode.new("x" * 99, size: 1) rescue $!.class)].inspect
    else code.to_s(dark: "#", light: " ") + code.as_png(size: 60).dimension.to_a.inspect
    end
  [200, {}, [text]]
end)
