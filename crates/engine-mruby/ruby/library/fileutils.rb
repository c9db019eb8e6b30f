# FileUtils, of which nothing is here but the name: files are for reading. Libraries require it for what few of their
# callers use; each of its methods raises and says so.

module FileUtils
  class << self
    names = %i[
      cd chdir pwd mkdir mkdir_p makedirs mkpath rmdir ln link ln_s symlink ln_sf cp copy cp_r copy_entry copy_file
      copy_stream mv move rm remove rm_f safe_unlink rm_r rm_rf rmtree remove_entry remove_entry_secure remove_file
      remove_dir install chmod chmod_R chown chown_R touch
    ]
    names.each do |name|
      define_method(name) do |*|
        raise NotImplementedError, "FileUtils.#{name}: files are for reading. #{FoolsGold::HINT}"
      end
    end
  end
end
