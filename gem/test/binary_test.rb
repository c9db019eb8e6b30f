# frozen_string_literal: true

# Where the program is looked for.

require "fileutils"
require "foolsgold/binary"
require "open3"
require "tmpdir"

class BinaryTest < Minitest::Test
  def setup
    @folder = Dir.mktmpdir("foolsgold-gem-")
  end

  def teardown
    FileUtils.remove_entry(@folder)
  end

  def put(name, text, mode = 0o755)
    path = File.join(@folder, name)
    FileUtils.mkdir_p(File.dirname(path))
    File.write(path, text)
    File.chmod(mode, path)
    path
  end

  def find(variables = {}, in_gem = File.join(@folder, "libexec", "foolsgold"))
    FoolsGold::Binary.path(variables, in_gem, File.join(@folder, "target", "release", "foolsgold"))
  end

  def test_the_variable_comes_first_and_must_be_right
    program = put("elsewhere", "\x7FELF")
    put("libexec/foolsgold", "\x7FELF")
    assert_equal program, find({ "FOOLS_GOLD_BINARY" => program })
    error = assert_raises(FoolsGold::Unable) { find({ "FOOLS_GOLD_BINARY" => "/nowhere" }) }
    assert_includes error.message, "FOOLS_GOLD_BINARY is /nowhere"
  end

  def test_the_repository_comes_last
    built = put("target/release/foolsgold", "\x7FELF")
    assert_equal built, find("PATH" => "")
    in_gem = put("libexec/foolsgold", "\x7FELF")
    assert_equal in_gem, find("PATH" => "")
  end

  def test_then_the_gem_then_path_but_no_script
    script = put("scripts/foolsgold", "#!/usr/bin/env ruby\n")
    put("plain/foolsgold", "\x7FELF", 0o644)
    program = put("bin/foolsgold", "\x7FELF")
    folders = [script, File.join(@folder, "plain", "x"), program].map { |path| File.dirname(path) }
    variables = { "PATH" => folders.join(File::PATH_SEPARATOR) }
    assert_equal program, find(variables)
    in_gem = put("libexec/foolsgold", "\x7FELF")
    assert_equal in_gem, find(variables)
  end

  def test_nowhere
    error = assert_raises(FoolsGold::Unable) { find({ "PATH" => @folder }) }
    assert_includes error.message, "say where it is with FOOLS_GOLD_BINARY"
  end

  def test_the_executable_says_it_in_a_sentence
    exe = File.expand_path("../exe/foolsgold", __dir__)
    said, status = Open3.capture2e({ "FOOLS_GOLD_BINARY" => "/nowhere" }, RbConfig.ruby, exe, "--version")
    assert_equal 1, status.exitstatus
    assert_match(/\Afoolsgold: FOOLS_GOLD_BINARY is/, said)
  end

  # Without arguments, too, where Ruby takes one word for a command line.
  def test_the_executable_runs_a_program_in_a_folder_with_a_space
    program = put("a folder/foolsgold", "echo it runs\n")
    exe = File.expand_path("../exe/foolsgold", __dir__)
    said, status = Open3.capture2e({ "FOOLS_GOLD_BINARY" => program }, RbConfig.ruby, exe)
    assert_equal ["it runs\n", true], [said, status.success?]
  end
end
