# The one route.

Rails.application.routes.draw do
  root to: "pages#show"
end
