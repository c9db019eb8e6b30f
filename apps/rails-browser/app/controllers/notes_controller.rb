# How many notes of each kind there are.
class NotesController < ApplicationController
  def index
    render json: Note.group(:text).count
  end
end
