# What the application wants to remember for whoever tests it, across workers and releases.
class Note < ApplicationRecord
end
