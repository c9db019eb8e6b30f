# The one controller.

# GET / shows ten minerals; ?name= is greeted. /sized/8145 shows as many as fit into a page of 8145 bytes.
class PagesController < ActionController::Base
  layout "application"

  MINERALS = {
    "Pyrite" => "FeS2", "Gold" => "Au", "Quartz" => "SiO2", "Galena" => "PbS", "Calcite" => "CaCO3",
    "Hematite" => "Fe2O3", "Fluorite" => "CaF2", "Halite" => "NaCl", "Cinnabar" => "HgS", "Corundum" => "Al2O3"
  }.freeze

  # What a page has at least, in bytes; and what it may have.
  BYTES = (1_000..100_000).freeze
  # Of each row, as the view writes it.
  ROW_BYTES = 48

  def show
    @name = params[:name].presence || "world"
    @minerals = MINERALS
  end

  def sized
    bytes = params[:bytes].to_i
    return render plain: "give #{BYTES.min} to #{BYTES.max} bytes\n", status: :bad_request unless BYTES.cover?(bytes)
    @rows, @rest = (bytes - empty_bytes).divmod(ROW_BYTES)
    @minerals = MINERALS.to_a
    render :sized
  end

  private

  # Of a page without rows: worked out once, since no request changes it.
  def empty_bytes
    @@empty_bytes ||= render_to_string(:sized, assigns: { rows: 0, rest: 0, minerals: [] }).bytesize
  end
end
