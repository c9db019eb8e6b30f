# RbConfig, for code that asks what system it is on.

module RbConfig
  CONFIG = {
    "ruby_version" => RUBY_VERSION, "ruby_install_name" => "foolsgold", "RUBY_INSTALL_NAME" => "foolsgold",
    "host_os" => "linux", "target_os" => "linux", "arch" => "embedded", "EXEEXT" => "", "DLEXT" => "so",
    "MAJOR" => RUBY_VERSION.split(".")[0], "MINOR" => RUBY_VERSION.split(".")[1], "TEENY" => "0", "bindir" => ""
  }

  def self.ruby = nil
  def self.expand(text, *) = text
end
