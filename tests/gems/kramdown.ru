# gems: kramdown rexml
# ask: / /more /latex
require "kramdown"

TEXT = {
  "/" => "# Title\n\nA *b* **c** `d` [e](http://x.example \"t\")\n\n* one\n* two\n    1. three\n\n> quote\n\n   " \
    " code < 1\n",
  "/more" => "a | b\n--|--:\n1 | 2\n{: .wide}\n\nterm\n: definition[^1]\n\n[^1]: note & \"quotes\" -- " \
    "dash...\n\n<b>raw</b> {:toc}\n\n$$x^2$$\n",
  "/latex" => "## Two\n\nsome *text* & 100%\n"
}.freeze

run(lambda do |env|
  document = Kramdown::Document.new(TEXT.fetch(env["PATH_INFO"]), auto_ids: true)
  [200, {}, [env["PATH_INFO"] == "/latex" ? document.to_latex : document.to_html + document.warnings.inspect]]
end)
