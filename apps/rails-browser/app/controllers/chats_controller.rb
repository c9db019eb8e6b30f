# The chat's page, and Action Cable's own script for it.
class ChatsController < ApplicationController
  # A script that any page may load: there is nothing in it.
  skip_after_action :verify_same_origin_request, only: :script

  def show
    cookies.encrypted[:visitor] = params[:as].presence || "somebody"
  end

  def script
    folder = Gem.loaded_specs["actioncable"]&.full_gem_path || ActionCable::Engine.root
    send_file File.join(folder, "app/assets/javascripts/action_cable.js"),
      type: "text/javascript", disposition: "inline"
  end
end
