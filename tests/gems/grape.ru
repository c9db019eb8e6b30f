# gems: grape rails/activesupport dry-types dry-core dry-logic dry-inflector dry-configurable mustermann/mustermann
# gems: mustermann-grape rack zeitwerk concurrent-ruby/lib/concurrent-ruby i18n tzinfo builder base64
# ask: / /v1/items/3 /v1/items/x POST:/v1/items?name=pen POST:/v1/items /none
require "grape"

class Api < Grape::API
  version "v1", using: :path
  format :json
  get(:hello) { { hello: "world" } }
  resource :items do
    params { requires :id, type: Integer }
    get(":id") { { id: params[:id], twice: params[:id] * 2 } }
    params { requires :name, type: String; optional :size, type: Integer, default: 1, values: 1..5 }
    post { declared(params) }
  end
end

run Api
