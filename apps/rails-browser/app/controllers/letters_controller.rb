# A long form.
class LettersController < ApplicationController
  def new
  end

  def create
    letter = params.require(:letter).permit(:text, lines: [])
    @digest = Digest::SHA256.hexdigest(letter[:text].to_s.gsub("\r\n", "\n"))
    @lines = Array(letter[:lines]).size
  end
end
