# Etc: processors and the system's names. Users and groups are not there.

module Etc
  VERSION = "1.4.3"

  class << self
    def nprocessors = FoolsGold::Native.processors
    def getlogin = ENV["USER"]
    def systmpdir = "/tmp"
    def sysconfdir = "/etc"
    def uname = %i[sysname nodename release version machine].zip(FoolsGold::Native.system_names).to_h

    names = %i[getpwuid getpwnam getgrgid getgrnam getpwent getgrent passwd group sysconf confstr]
    FoolsGold.refuse(self, names, "Etc.")
  end
end
