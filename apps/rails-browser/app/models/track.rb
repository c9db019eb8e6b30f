# A title with uploads: a sound, and pictures.
class Track < ApplicationRecord
  has_one_attached :sound
  has_many_attached :pictures
  validates :title, presence: true
end
