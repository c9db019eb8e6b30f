# A title with uploads: a sound, a film, and pictures.
class Track < ApplicationRecord
  has_one_attached :sound
  has_one_attached :film
  has_many_attached :pictures
  validates :title, presence: true
end
