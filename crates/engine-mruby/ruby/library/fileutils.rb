# FileUtils, whose methods raise a NotImplementedError: files are for reading. The module exists because many libraries
# require it for methods that few of their users call.

module FileUtils
  class << self
    names = %i[
      cd chdir pwd mkdir mkdir_p makedirs mkpath rmdir ln link ln_s symlink ln_sf cp copy cp_r copy_entry copy_file
      copy_stream mv move rm remove rm_f safe_unlink rm_r rm_rf rmtree remove_entry remove_entry_secure remove_file
      remove_dir install chmod chmod_R chown chown_R touch
    ]
    FoolsGold.refuse(self, names, "FileUtils.", "files are for reading. #{FoolsGold::HINT}")
  end
end
