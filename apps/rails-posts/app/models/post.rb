# A post.

# Title, body and author, all of them needed; created_at is set when it is saved.
class Post < ActiveRecord::Base
  validates :title, presence: true, length: { maximum: 200 }
  validates :author, presence: true, length: { maximum: 100 }
  validates :body, presence: true, length: { maximum: 10_000 }

  # The id decides between posts of the same moment.
  scope :latest, -> { order(created_at: :desc, id: :desc).limit(20) }
end
