# Posts in PostgreSQL, on Rails: bin/prepare makes the database first.

require_relative "config/environment"

run Rails.application
