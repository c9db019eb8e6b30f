# frozen_string_literal: true

# The hooks API, where no FoolsGold runs and where one does.

require "fileutils"
require "open3"
require "tmpdir"

class HooksTest < Minitest::Test
  LIB = File.expand_path("../lib", __dir__)
  SERVER = File.expand_path("../../crates/engine-ruby/ruby/hooks.rb", __dir__)

  def ruby(code)
    said, status = Open3.capture2e(RbConfig.ruby, "-w", "-I", LIB, "-e", code)
    assert status.success?, said
    said
  end

  def test_blocks_are_kept_and_not_run
    said = ruby(<<~'RUBY')
      require "foolsgold"
      FoolsGold::HOOK_NAMES.each { |name| FoolsGold.public_send(name) { abort "it ran" } }
      begin
        FoolsGold.after_fork
      rescue ArgumentError => error
        puts error.message
      end
      puts FoolsGold.recorded_hooks.sum { |_, blocks| blocks.size }
      puts FoolsGold::RequestTimeout.superclass
    RUBY
    assert_equal "after_fork needs a block: after_fork { ... }\n7\nException\n", said
  end

  # In whichever order they come.
  def test_the_servers_own_methods_stay
    own = "require #{SERVER.dump}"
    gem = "require \"foolsgold\""
    try = "FoolsGold.before_fork { puts 'ran' }\nFoolsGold.hooks.run(:before_fork)"
    assert_equal "ran\n", ruby([own, gem, try].join("\n"))
    assert_includes ruby([gem, own, try].join("\n")), "ran\n"
  end

  def test_the_names_are_those_of_the_server
    said = ruby("require #{SERVER.dump}\nrequire \"foolsgold\"\np FoolsGold::Hooks::NAMES == FoolsGold::HOOK_NAMES")
    assert_equal "true\n", said
  end

  # Where the gem is vendored, or copied out of this repository.
  def test_a_copy_of_the_gem_alone_loads
    Dir.mktmpdir do |folder|
      FileUtils.cp_r(File.expand_path("..", __dir__), "#{folder}/vendored")
      out, status = Open3.capture2e(RbConfig.ruby, "-e", <<~RUBY, chdir: "#{folder}/vendored")
        spec = Gem::Specification.load("foolsgold.gemspec")
        print spec.version, " ", spec.files.include?("lib/foolsgold/version.rb")
      RUBY
      assert status.success?, out
      assert_match(/\A\d+\.\d+\.\d+ true\z/, out)
    end
  end

  def test_the_gem_has_its_program_and_its_handler
    spec = Gem::Specification.load(File.expand_path("../foolsgold.gemspec", __dir__))
    assert_equal ["foolsgold"], spec.executables
    assert_includes spec.files, "lib/rackup/handler/foolsgold.rb"
  end
end
