# Creates the folder for files.txt: ruby -r./files.rb answers.rb files.txt. ../files.rs creates the same one.

require "tmpdir"
require "fileutils"
require "stringio"

HERE = Dir.mktmpdir
at_exit { FileUtils.rm_rf(HERE) }
{ "config.ru" => "", "notes.txt" => "one\ntwo\nthree", "views/a.erb" => "a", "views/b.erb" => "bb",
  "views/sub/c.erb" => "c", "views/.hid/d.erb" => "", "views/.hid/marked.csv" => "\ufeffé,b\n" }.each do |name, text|
  path = File.join(HERE, name)
  FileUtils.mkdir_p(File.dirname(path))
  File.write(path, text)
end
File.symlink("notes.txt", "#{HERE}/alias")
File.symlink(".", "#{HERE}/circle")
