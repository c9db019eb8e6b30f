# FoolsGold.start, which C calls once: loads config.ru and checks that the result is an application.

module FoolsGold
  class << self
    def start(rackup)
      self.root = File.dirname(File.expand_path(rackup))
      ENV["RACK_ENV"] = environment
      ENV["APP_ENV"] = environment if ENV.key?("APP_ENV")
      app = Builder.load_file(rackup)
      seal_folders
      unless app.respond_to?(:call)
        raise TypeError, "the application in #{rackup} is of #{app.class}, which does not answer call(env)"
      end
      app
    end
  end
end
