# RbConfig, for code that checks the platform.

module RbConfig
  CONFIG = {
    "ruby_version" => RUBY_VERSION, "ruby_install_name" => "foolsgold", "RUBY_INSTALL_NAME" => "foolsgold",
    "host_os" => "linux", "target_os" => "linux", "arch" => "embedded", "EXEEXT" => "", "DLEXT" => "so",
    "MAJOR" => RUBY_VERSION.split(".")[0], "MINOR" => RUBY_VERSION.split(".")[1], "TEENY" => "0", "bindir" => "",
    # The folder of Ruby's own library in backtraces and in $LOADED_FEATURES.
    "rubylibdir" => FoolsGold::Loader::RUBY
  }

  SIZEOF = {
    "int" => 4, "short" => 2, "long" => 8, "long long" => 8, "void*" => 8, "size_t" => 8, "time_t" => 8, "float" => 4,
    "double" => 8
  }.freeze
  LIMITS = {
    "FIXNUM_MAX" => 2**62 - 1, "FIXNUM_MIN" => -2**62, "INT_MAX" => 2**31 - 1, "INT_MIN" => -2**31,
    "LONG_MAX" => 2**63 - 1, "LONG_MIN" => -2**63
  }.freeze

  def self.ruby = nil
  def self.expand(text, *) = text
end
