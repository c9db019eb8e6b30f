# The small Rails page: one controller, one view with a layout, no database.

require_relative "config/environment"

run Rails.application
