# frozen_string_literal: true

# What a script finds that is loaded by the server, and not run by Ruby.

require "open3"
require "tmpdir"

class ScriptTest < Minitest::Test
  LIB = File.expand_path("../lib", __dir__)

  # What a script with this text hands to the server.
  def taken_from(text)
    Dir.mktmpdir do |folder|
      path = File.join(folder, "app.rb")
      File.binwrite(path, text)
      code = "require 'foolsgold/script'\nprint FoolsGold::Script.new(#{path.dump}, [], nil).application"
      said, status = Open3.capture2e(RbConfig.ruby, "-w", "-I", LIB, "-e", code)
      assert status.success?, said
      said
    end
  end

  # As with `ruby app.rb`, where the application reads a page from the end of its own file.
  def test_data_is_what_stands_after_the_end
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
