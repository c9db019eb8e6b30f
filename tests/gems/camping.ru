# gems: camping mab rack rack-session tilt zeitwerk dry-logger dry-core kdl
# ask: / /hello/ann POST:/form?a=1 /none
require "camping"

Camping.goes :Tiny

module Tiny
  module Controllers
    class Index < R "/"
      def get = render(:home)
    end

    class HelloX
      def get(name) = "Hello #{name}"
    end

    class Form
      def post = "got #{@input.a}"
    end
  end

  module Views
    def home = h1("Home")
  end
end

run Tiny
