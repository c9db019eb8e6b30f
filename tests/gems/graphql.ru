# gems: graphql-ruby base64
# ask: / /error /introspect /print
require "graphql"

class BookType < GraphQL::Schema::Object
  field :title, String, null: false
  field :pages, Integer
end

class QueryType < GraphQL::Schema::Object
  field :book, BookType, "One book" do
    argument :id, ID, required: true
  end
  field :books, [BookType], null: false
  def book(id:) = { title: "No. #{id}", pages: id.to_i * 100 }
  def books = [{ title: "A", pages: nil }, { title: "B", pages: 2 }]
end

class Library < GraphQL::Schema
  query QueryType
end

run(lambda do |env|
  answer =
    case env["PATH_INFO"]
    when "/error" then Library.execute("{ book { titel } }").to_h
    when "/introspect" then Library.execute("{ __schema { queryType { name fields { name } } } }").to_h
    when "/print" then Library.to_definition
    else Library.execute("query($id: ID!) { book(id: $id) { title pages } books { ...T } } fragment T on Book { " \
      "t: title }", variables: { id: 3 }).to_h
    end
  [200, {}, [answer.inspect]]
end)
