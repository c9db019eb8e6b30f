# The routes: posts, and whether the application is up.

Rails.application.routes.draw do
  root to: redirect("/posts")
  resources :posts, only: %i[index show create]
  get "/up", to: "health#show"
end
