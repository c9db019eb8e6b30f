# Somebody who has signed up.
class Account < ApplicationRecord
  validates :name, presence: true, length: { maximum: 40 }
  validates :email, format: { with: /\A[^@\s]+@[^@\s]+\z/ }, uniqueness: true
end
