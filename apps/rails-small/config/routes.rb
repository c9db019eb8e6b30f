# The two routes.

Rails.application.routes.draw do
  root to: "pages#show"
  get "sized/:bytes", to: "pages#sized"
end
