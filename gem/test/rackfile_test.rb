# frozen_string_literal: true

# Which file the server loads.

require "fileutils"
require "foolsgold/rackfile"
require "open3"
require "tmpdir"

class RackfileTest < Minitest::Test
  def setup
    @folder = Dir.mktmpdir("foolsgold-gem-")
    @kept = ENV["TMPDIR"]
    ENV["TMPDIR"] = File.join(@folder, "tmp").tap { |temporary| Dir.mkdir(temporary) }
  end

  def teardown
    ENV["TMPDIR"] = @kept
    FileUtils.remove_entry(@folder)
  end

  # What is in the temporary folder meanwhile, and the arguments.
  def use(options)
    FoolsGold::Rackfile.new(nil, options).use { |arguments| [Dir.children(ENV["TMPDIR"]).size, arguments] }
  end

  # In a read-only container there may be no temporary folder.
  def test_a_file_that_is_there_needs_no_folder
    path = File.join(@folder, "config.ru")
    File.write(path, "run ->(_) {}")
    assert_equal [0, [path]], use({ config: path })
  end

  # The warning if the code at this path passes an object to the handler.
  def warning(options, caller = $PROGRAM_NAME)
    Dir.chdir(@folder) { capture_io { FoolsGold::Rackfile.new(nil, options).warn_of_object(caller) }.last }
  end

  def test_a_script_whose_object_is_not_served_gets_a_warning
    assert_empty warning({})
    File.write(File.join(@folder, "config.ru"), "run ->(_) {}")
    assert_match(%r{\Afoolsgold: serves /.*/config.ru, and not the object that }, warning({}))
    [{ config: "config.ru" }, { builder: "run ->(_) {}" }, { app: ->(_) {} }].each do |options|
      assert_empty warning(options)
    end
    assert_empty warning({}, "/gems/padrino/server.rb")
  end

  def test_a_file_that_is_made_is_taken_away
    folders, arguments = use({ builder: "run ->(_) {}" })
    assert_equal 1, folders
    assert_equal "config.ru", File.basename(arguments.last)
    assert_empty Dir.children(ENV["TMPDIR"])
  end

  # Then systemd-tmpfiles does not remove the file, however old it is when the next worker starts.
  def test_the_folder_of_a_file_that_is_made_is_locked
    is_locked = FoolsGold::Rackfile.new(nil, { builder: "run ->(_) {}" }).use do |arguments|
      File.open(File.dirname(arguments.last)) { |folder| !folder.flock(File::LOCK_EX | File::LOCK_NB) }
    end
    assert is_locked
  end

  # Settings such as `user` make the server of root another user.
  def test_what_root_has_made_can_be_read_by_all
    return unless Process.euid.zero?

    modes = FoolsGold::Rackfile.new(nil, { builder: "run ->(_) {}" }).use do |arguments|
      [File.dirname(arguments.last), arguments.last].map { |path| File.stat(path).mode & 0o777 }
    end
    assert_equal [0o755, 0o644], modes
  end

  # In the background the server would outlive it.
  def test_with_a_file_that_is_made_the_server_stays_in_the_foreground
    _, arguments = use({ builder: "run ->(_) {}" })
    assert_includes arguments, "--daemonize=no"
  end

  # The test adds one to the load path, as `ruby -I` does.
  def test_folders_of_the_command_are_those_of_the_script
    script = File.join(@folder, "app.rb")
    File.write(script, "")
    $LOAD_PATH.unshift(@folder)
    text = FoolsGold::Rackfile.new(nil, { app: true }, script).use { |arguments| File.read(arguments.last) }
    assert_includes text, "$LOAD_PATH.unshift(#{@folder.dump}, "
    refute_includes text, RbConfig::CONFIG["rubylibdir"].dump
  ensure
    $LOAD_PATH.delete(@folder)
  end

  # The text of the file that is made for a script that begins with this code, and is started with arguments.
  def made_after(code)
    script = File.join(@folder, "app.rb")
    File.write(script, <<~RUBY)
      #{code}
      require "foolsgold/rackfile"
      FoolsGold::Rackfile.new(nil, { app: true }).use { |arguments| puts File.read(arguments.last) }
    RUBY
    variables = { "PWD" => @folder }
    lib = File.expand_path("../lib", __dir__)
    text, status = Open3.capture2e(variables, RbConfig.ruby, "-w", "-I", lib, "app.rb", "-p", "a b", chdir: @folder)
    assert status.success?, text
    text
  end

  # An OptionParser takes them out of ARGV.
  def test_a_script_gets_the_arguments_that_it_was_given
    return unless File.exist?("/proc/self/cmdline")

    assert_includes made_after("ARGV.clear"), %(\narguments = ["-p", "a b"]\n)
    return unless RUBY_ENGINE == "ruby" # With another title, the process no longer has them.

    assert_includes made_after("$0 = 'app.rb'; ARGV.shift"), %(\narguments = ["a b"]\n)
    of_bundler = "Process.setproctitle('app.rb -p a b'); "
    assert_includes made_after(of_bundler), %(\narguments = ["-p", "a b"]\n)
    assert_includes made_after("#{of_bundler}ARGV.clear"), %(\narguments = ["-p", "a", "b"]\n)
  end

  def test_a_script_may_leave_the_folder_where_it_was_started
    assert_includes made_after("Dir.chdir('/')"), "Script.new(#{File.join(@folder, 'app.rb').dump}, arguments, "
  end

  # Beside the file that is made, nobody touches or configures anything.
  def test_the_folder_of_a_script_is_told
    script = File.join(@folder, "app.rb")
    File.write(script, "")
    of_script = FoolsGold::Rackfile.new(nil, { app: true }, script)
    assert_equal %w[--tag app --daemonize=no], of_script.use { |arguments| arguments[0..-2] }
    assert_equal({ "FOOLSGOLD_APP_FOLDER" => @folder }, of_script.variables)
    of_line = FoolsGold::Rackfile.new(nil, { builder: "run ->(_) {}" })
    assert_equal({ "FOOLSGOLD_APP_FOLDER" => Dir.pwd }, of_line.variables)
    path = File.join(@folder, "config.ru")
    File.write(path, "run ->(_) {}")
    assert_equal({ "FOOLSGOLD_APP_FOLDER" => nil }, FoolsGold::Rackfile.new(nil, { config: path }).variables)
  end
end
