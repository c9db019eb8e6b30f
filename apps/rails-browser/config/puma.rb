# For Puma, and for FoolsGold, which reads it with -C.

threads_count = Integer(ENV.fetch("RAILS_MAX_THREADS", 3))
threads threads_count, threads_count
port ENV.fetch("PORT", 3000), "127.0.0.1"
environment ENV.fetch("RAILS_ENV", "development")
plugin :tmp_restart

if ENV["RAILS_ENV"] == "production"
  workers Integer(ENV.fetch("WEB_CONCURRENCY", 2))
  preload_app!
end
