# frozen_string_literal: true

# Which file the server loads.

require "fileutils"
require "foolsgold/rackfile"
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

  def test_a_file_that_is_made_is_taken_away
    folders, arguments = use({ builder: "run ->(_) {}" })
    assert_equal 1, folders
    assert_equal "config.ru", File.basename(arguments.last)
    assert_empty Dir.children(ENV["TMPDIR"])
  end

  VARIABLES = %w[FOOLS_GOLD_RESTART_FILE FOOLS_GOLD_CONFIG].freeze

  # The arguments for a script, beside whose made file nobody touches anything.
  def arguments_with(variables)
    kept = VARIABLES.map { |name| [name, ENV[name]] }.to_h
    VARIABLES.each { |name| ENV[name] = variables[name] }
    script = File.join(@folder, "app.rb")
    File.write(script, "")
    FoolsGold::Rackfile.new(nil, { app: true }, script).use { |arguments| arguments[0..-2] }
  ensure
    kept.each { |name, value| ENV[name] = value }
  end

  def test_the_restart_file_is_beside_the_script
    named = ->(name) { ["--tag", "app", "--restart-file", File.join(@folder, name)] }
    assert_equal named.call("tmp/restart.txt"), arguments_with({})
    assert_equal named.call("again"), arguments_with({ "FOOLS_GOLD_RESTART_FILE" => "again" })
    assert_equal %w[--tag app], arguments_with({ "FOOLS_GOLD_RESTART_FILE" => "none" })
    assert_equal %w[--tag app], arguments_with({ "FOOLS_GOLD_CONFIG" => "/etc/foolsgold.toml" })
  end
end
