# gems: markaby builder
# ask: / /form /plain
require "markaby"

run(lambda do |env|
  page = Markaby::Builder.new
  case env["PATH_INFO"]
  when "/form"
    page.form(action: "/x") { label "Name & more"; input type: "text", name: "n"; button.big.red! "Go" }
  when "/plain"
    page.div.box! { p "<escaped>"; self << "<raw>"; ul { 3.times { |n| li.odd "item #{n}" } } }
  else
    page.html { head { title "Boats" }; body { h1 "Boats"; tag!(:nav) { a "home", href: "/" }; text "end" } }
  end
  [200, { "content-type" => "text/html" }, [page.to_s]]
end)
