# frozen_string_literal: true

# What `Pitchfork::Info` says, for health checks that ask it whether the server ends.

module FoolsGold
  # Replaces the method that reads the memory which Pitchfork's server shares with its workers: here there is none, so
  # that method raises.
  module PitchforkInfo
    # Gives it to Pitchfork's module, if that is loaded.
    def self.offer
      ::Pitchfork::Info.singleton_class.prepend(self) if defined?(::Pitchfork::Info.shutting_down?)
    end

    def shutting_down?
      FoolsGold.worker.ending?
    end
  end
end
