# gems: phlex zeitwerk
# ask: / /list
require "phlex"

class Card < Phlex::HTML
  def initialize(title:) = @title = title

  def view_template
    article(class: ["card", "wide"], data: { a_b: 1 }) { h1 { @title }; p { plain "a < b"; br; strong { "x" } }
      yield if block_given? }
  end
end

class List < Phlex::HTML
  def view_template
    ul { 3.times { |n| li(id: "n#{n}", hidden: n == 1) { render Card.new(title: "<#{n}>") } } }
  end
end

run ->(env) { [200, {}, [env["PATH_INFO"] == "/list" ? List.new.call : Card.new(title: "One").call { "inside" }]] }
