# All routes. Those of Active Storage and Action Cable (/cable) are Rails' own.

Rails.application.routes.draw do
  root to: "pages#home"
  get "version", to: "pages#version"
  get "slow", to: "pages#slow"
  get "boom", to: "pages#boom"
  get "fresh", to: "pages#fresh"
  get "secret", to: "pages#secret"
  get "tiles", to: "pages#tiles"
  get "tiles/:id", to: "pages#tile", as: :tile
  get "deflated", to: "pages#deflated"

  resource :account, only: %i[new create show destroy]
  resources :tracks, only: %i[index new create show destroy]
  resources :notes, only: %i[index]
  get "chat", to: "chats#show"
  get "action_cable.js", to: "chats#script"
  get "events", to: "events#show"
  get "events/stream", to: "streams#events"

  get "exports", to: "exports#index"
  get "exports/rows", to: "exports#rows"
  get "exports/stream", to: "streams#rows"
  get "exports/file", to: "exports#file"
  get "exports/data", to: "exports#data"

  get "chain/:left", to: "redirects#chain", as: :chain
  post "keep", to: "redirects#keep"
  resource :letter, only: %i[new create]
  match "echo", to: "echoes#show", via: %i[get post put patch delete options]
end
