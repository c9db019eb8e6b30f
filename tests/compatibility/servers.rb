# frozen_string_literal: true

# The servers, which are the columns, and the applications that they serve.

# A column. `contender` is the name under which bench/rack-env starts it; `version` is nil where it is not here.
Server = Struct.new(:name, :title, :contender, :version, :home, keyword_init: true) do
  def self.all
    @all ||= [puma, of("unicorn", "Unicorn", "unicorn --version"), of("thin", "Thin", "thin --version"),
              of("passenger", "Passenger", "passenger --version"),
              new(name: "foolsgold", title: "FoolsGold", contender: "fg-native", version: ours, home: "machine"),
              new(name: "embedded", title: "embedded", contender: "fg-mruby", version: ours, home: "machine")]
  end

  def self.find(name) = all.find { |server| server.name == name }

  def self.of(name, title, command)
    new(name: name, title: title, contender: name, version: version(command), home: "machine")
  end

  def self.puma
    ring = version("chroot #{Contender::RING} env -i PATH=/usr/local/bin:/usr/bin:/bin puma --version")
    return new(name: "puma", title: "Puma", contender: "ring-puma", version: ring, home: "ring") if ring

    of("puma", "Puma", "puma --version")
  end

  def self.version(command)
    out, = Open3.capture2e(command)
    out[/\d+\.\d+(\.\d+)*/]
  rescue Errno::ENOENT
    nil
  end

  def self.ours = File.read(File.join(Contender::ROOT, "Cargo.toml"))[/^version = "(.+?)"/, 1]

  def ours? = contender.start_with?("fg-")
end

module App
  module_function

  # The files of an application, name => text.
  def files(app)
    case app
    when :environment then { "config.ru" => File.read(File.join(Contender::ROOT, "bench/rack-env/dump.ru")) }
    when :answers then Contender.files_of(File.join(Contender::ROOT, "tests/answers"))
    else { "config.ru" => File.read(File.join(__dir__, "apps", "#{app}.ru")) }
    end
  end

  # What an application needs beside its files.
  def prepare(app, folder)
    File.mkfifo(File.join(folder, "fifo")) if app == :answers
  end
end
