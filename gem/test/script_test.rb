# frozen_string_literal: true

# Scripts that the server loads, and that Ruby does not run as its program.

require "open3"
require "tmpdir"

class ScriptTest < Minitest::Test
  LIB = File.expand_path("../lib", __dir__)

  # The text of the object that a script with this text passes to the server.
  def taken_from(text)
    Dir.mktmpdir do |folder|
      path = File.join(folder, "app.rb")
      File.binwrite(path, text)
      code = "require 'foolsgold/script'\nprint FoolsGold::Script.new(#{path.dump}, [], nil).application"
      output, status = Open3.capture2e(RbConfig.ruby, "-w", "-I", LIB, "-e", code)
      assert status.success?, output
      output
    end
  end

  # As with `ruby app.rb`, where the application reads a page from the end of its own file.
  def test_data_is_the_text_after_the_end
    ["\n", "\r\n"].each do |line_end|
      lines = ["FoolsGold::Script.take(DATA.read)", "__END__", "fools'", "__END__", "gold"]
      assert_equal "fools'#{line_end}__END__#{line_end}gold", taken_from(lines.join(line_end))
    end
    assert_equal "", taken_from("FoolsGold::Script.take(DATA.read)\n__END__")
  end

  def test_without_an_end_there_is_no_data
    assert_equal "nil", taken_from("FoolsGold::Script.take(defined?(DATA).inspect)\n")
  end
end
