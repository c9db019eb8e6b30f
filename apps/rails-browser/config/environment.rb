# Loads the application and starts it up.

require_relative "application"

Rails.application.initialize!
