# How the applications of bin/chaos boot: as the file `boot` in the scenario's folder says when they are loaded.

# A number is the version in responses; `raise`, `hang` and `unfit` are ways to be broken.
module Boot
  file = File.join(ENV["CHAOS_FOLDER"].to_s, "boot")
  WORD = (File.exist?(file) ? File.read(file) : "1").strip

  raise "this version does not boot: the scenario wants it so" if WORD == "raise"
  # The embedded interpreter refuses to sleep while it loads, so this loops.
  nil while WORD == "hang"

  def self.version
    "version #{WORD}\n"
  end

  # Whether probes succeed.
  def self.fit?
    WORD != "unfit"
  end
end
