# The one controller.

# GET / shows ten minerals; ?name= is greeted.
class PagesController < ActionController::Base
  layout "application"

  MINERALS = {
    "Pyrite" => "FeS2", "Gold" => "Au", "Quartz" => "SiO2", "Galena" => "PbS", "Calcite" => "CaCO3",
    "Hematite" => "Fe2O3", "Fluorite" => "CaF2", "Halite" => "NaCl", "Cinnabar" => "HgS", "Corundum" => "Al2O3"
  }.freeze

  def show
    @name = params[:name].presence || "world"
    @minerals = MINERALS
  end
end
