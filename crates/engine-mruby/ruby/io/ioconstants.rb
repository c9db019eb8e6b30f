# The constants of IO and File. Code names them before it calls a method of File, so they cannot be loaded with the
# library.

class IO
  module Constants
    RDONLY = 0
    WRONLY = 1
    RDWR = 2
    APPEND = 1024
    CREAT = 64
    EXCL = 128
    NONBLOCK = 2048
    TRUNC = 512
    SYNC = 1_052_672
    DSYNC = 4096
    RSYNC = 1_052_672
    NOCTTY = 256
    NOFOLLOW = 131_072
    NOATIME = 262_144
    DIRECT = 16_384
    TMPFILE = 4_259_840
    BINARY = 0
    SHARE_DELETE = 0
    LOCK_SH = 1
    LOCK_EX = 2
    LOCK_NB = 4
    LOCK_UN = 8
    FNM_SYSCASE = 0
    FNM_SHORTNAME = 0
    FNM_NOESCAPE = 1
    FNM_PATHNAME = 2
    FNM_DOTMATCH = 4
    FNM_CASEFOLD = 8
    FNM_EXTGLOB = 16
    NULL = "/dev/null"
  end

  include Constants
end
