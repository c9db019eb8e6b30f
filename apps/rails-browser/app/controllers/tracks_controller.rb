# Uploads, and what becomes of them: pictures to look at, a sound to hear, a film to watch, files to save.
class TracksController < ApplicationController
  def index
    @tracks = Track.with_attached_sound.order(:id)
  end

  def new
    @track = Track.new
  end

  def create
    @track = Track.new(params.require(:track).permit(:title, :sound, :film, pictures: []))
    return render(:new, status: :unprocessable_entity) unless @track.save

    redirect_to @track, notice: "Uploaded.", status: :see_other
  end

  def show
    @track = Track.find(params[:id])
  end

  def destroy
    Track.find(params[:id]).destroy!
    redirect_to tracks_path, notice: "Gone.", status: :see_other
  end
end
