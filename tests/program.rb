# frozen_string_literal: true

# Where the program foolsgold is, for scripts of this repository.
module Program
  ROOT = File.expand_path("..", __dir__)

  module_function

  # The folder that cargo builds into.
  def target
    IO.popen([File.join(ROOT, "bin/target")], &:read).chomp
  end

  # The program that FOOLSGOLD names, or that of this repository as the tests run it, built.
  def path
    @path ||= ENV["FOOLSGOLD"] ? File.expand_path(ENV["FOOLSGOLD"]) : build
  end

  def build
    cargo = File.join(ENV.fetch("CARGO_HOME", File.join(Dir.home, ".cargo")), "bin")
    environment = { "CARGO_TARGET_DIR" => target, "PATH" => "#{cargo}:#{ENV.fetch("PATH")}" }
    system(environment, "cargo", "build", "--quiet", "-p", "server", chdir: ROOT) ||
      abort("the program could not be built: see above, or name one with FOOLSGOLD")
    File.join(target, "debug/foolsgold")
  end
end
