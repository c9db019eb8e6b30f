# What a browser meets in a Rails application: forms, uploads, media, Action Cable, streams, downloads.

require_relative "config/environment"

run Rails.application
