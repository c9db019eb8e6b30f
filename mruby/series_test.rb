# Tests of mruby/series, on the release that bin/setup has fetched: `ruby mruby/series_test.rb`.

require "fileutils"
require "open3"
require "tmpdir"

Encoding.default_external = Encoding::UTF_8

ARCHIVE = Dir[File.expand_path("../build/mruby/*.tar.gz", __dir__)].max
# With MRUBY_DIR, mruby is another's, and bin/setup fetches none.
ENV["MRUBY_DIR"] && !ARCHIVE and (puts "series: left out, there is no release of mruby"; exit)
ARCHIVE or abort "series: there is no release of mruby: run bin/setup"

# A folder with a copy of mruby/, whose series may be written.
FOLDER = Dir.mktmpdir("series")
at_exit { FileUtils.rm_rf(FOLDER) }
FileUtils.cp_r(__dir__, File.join(FOLDER, "mruby"))

# In the locale that a container mostly has.
def series(*arguments, env: {})
  series = File.join(FOLDER, "mruby/series")
  said, status = Open3.capture2e({ "LC_ALL" => "C", **env }, RbConfig.ruby, series, *arguments)
  [status.success?, said]
end

def git(folder, *arguments)
  options = %w[-c user.name=Test -c user.email=test@localhost]
  said, status = Open3.capture2e("git", *options, *arguments, chdir: folder)
  status.success? or abort "git #{arguments.join(" ")}: #{said}"
end

def release(name)
  folder = File.join(FOLDER, name)
  FileUtils.mkdir_p(folder)
  system("tar", "-xzf", ARCHIVE, "--strip-components=1", "-C", folder) or abort "tar failed"
  folder
end

def patches(folder)
  Dir[File.join(folder, "patches/*.patch")].map { |path| [File.basename(path), File.read(path)] }.to_h
end

def check(what, kept, said = "")
  kept or abort "series: #{what}: it does not hold\n#{said}"
end

unpacked = File.join(FOLDER, "unpacked")
done, said = series("unpack", unpacked, ARCHIVE)
check("a repository is made", done, said)
done, said = series("write", unpacked)
check("it is written back as it was", done && patches(File.join(FOLDER, "mruby")) == patches(__dir__), said)

# An interpreter runs in any thread, and may change it in the middle of a request.
of_threads = patches(__dir__).select { |_, text| text.match?(/^\+.*\b(__thread|_Thread_local|thread_local)\b/) }.keys
check("no patch has a variable for each thread", of_threads.empty?, of_threads.join(", "))

# Another reason, in the last commit.
git(unpacked, "commit", "--quiet", "--amend", "--message", "stress\n\nAnother reason.")
done, said = series("write", unpacked)
changed = patches(File.join(FOLDER, "mruby")).reject { |name, text| patches(__dir__)[name] == text }
check("a changed commit changes its patch only", done && changed.keys == ["stress.patch"], said)
git(unpacked, "commit", "--quiet", "--amend", "--message", "Stress")
done, said = series("write", unpacked)
check("a commit without a name and a reason is refused", !done && said.include?("the patch's name"), said)

# A repository around the source, which a hook of git would name in the environment too.
git(FOLDER, "init", "--quiet")
source = release("inside/src")
done, said = series("apply", source, env: { "GIT_DIR" => File.join(FOLDER, ".git"), "GIT_WORK_TREE" => FOLDER })
vm, bigint = %w[src/vm.c mrbgems/mruby-bigint/core/bigint.c].map { |name| File.read(File.join(source, name)) }
check("a source in a repository is changed", done && vm.include?("fg_on_except"), said)
ours = File.read(File.join(__dir__, "bigint.c"))
check("C files are put in", !bigint.include?("/* mruby/") && bigint.include?(ours.lines.last(9).join))
check("a source that is changed already is refused", !series("apply", source).first)
file = File.join(FOLDER, "mruby/bigint.c")
done, said = series("mark", source, file)
marked = said.lines.slice_when { |_, line| line.match?(/\A# \d/) }.to_a
check("our lines are marked", done && marked.map { |lines| lines.first[/bigint\.c".*/] } ==
  ['bigint.c" 3', 'bigint.c"', 'bigint.c" 3'] && ours.end_with?(marked[1].drop(1).join), said)
done, said = series("mark", release("bare"), file)
check("a source without our file is refused", !done && said.include?("is not in"), said)

source = release("other")
path = File.join(source, "src/vm.c")
File.write(path, File.read(path).sub("regs[a] = exc;", "regs[a] =  exc;"))
done, said = series("apply", source)
check("another line is refused", !done && said.match?(/\d-[a-z-]+\.patch does not fit/), said)

source = release("moved")
path = File.join(source, "src/vm.c")
File.write(path, "\n#{File.read(path)}")
done, said = series("apply", source)
check("a line that has moved is refused", !done && said.include?("(offset 1 line)"), said)
puts "series: all tests passed"
