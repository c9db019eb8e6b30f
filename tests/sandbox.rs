//! A sandbox that denies system calls which the server can do without, as those of containers do (seccomp).

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Server, ruby, server::folder_with};

/// Starts a program for which the system calls with these numbers fail with this error.
const DENY: &str = r#"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static const int CALLS[] = {
  SYS_sendfile, SYS_copy_file_range, SYS_splice, SYS_preadv2, SYS_process_vm_readv, SYS_memfd_create, SYS_statx,
  SYS_pidfd_open, SYS_close_range, SYS_sched_setscheduler, SYS_sched_setaffinity, SYS_madvise, SYS_timer_create,
};
int main(int count, char **words) {
  struct sock_filter lines[64] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
  unsigned short at = 1;
  for (size_t i = 0; count > 3 && i < sizeof CALLS / sizeof *CALLS; i++) {
    lines[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)CALLS[i], 0, 1);
    lines[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)atoi(words[1]));
  }
  lines[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog filter = {at, lines};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) return 3;
  execvp(words[2], words + 2);
  return 4;
}
"#;

const LONG: usize = 300_000;

/// A file by its name, a long String, and the size of an upload.
const APP: &str = r#"
    Page = Struct.new(:to_path) { def each = yield(File.read(to_path)) }
    LONG = "gold!!" * 500_000
    run lambda { |env|
      case env["PATH_INFO"]
      when "/page" then [200, {}, Page.new("page")]
      when "/long" then [200, { "content-length" => LONG.bytesize.to_s }, [LONG]]
      else [200, {}, [env["rack.input"].read.bytesize.to_s]]
      end
    }
"#;

/// Builds the program; false on a machine without a C compiler, or whose kernel has no such filters.
fn build(folder: &Path) -> bool {
    fs::write(folder.join("deny.c"), DENY).unwrap();
    let compiled = Command::new("cc").args(["-o", "deny", "deny.c"]).current_dir(folder).status();
    let tried = || Command::new(folder.join("deny")).args(["1", "true"]).status();
    let is_built = compiled.is_ok_and(|status| status.success()) && tried().is_ok_and(|status| status.success());
    if !is_built {
        eprintln!("skipped: there is no C compiler here, or no seccomp");
    }
    is_built
}

#[test]
fn files_long_strings_and_uploads_do_without_calls_that_a_sandbox_denies() {
    let page = "gold!!".repeat(LONG / 6);
    for engine in ["ruby", "mruby"] {
        // EPERM, as Docker answers, and ENOSYS, as an old kernel.
        for error in ["1", "38"] {
            let folder = folder_with(&[("config.ru", APP), ("page", &page)]);
            if !build(&folder) {
                return;
            }
            let deny = folder.join("deny").display().to_string();
            let by = [deny.as_str(), error];
            let server = if engine == "ruby" {
                ruby::serve_by(&by, folder, &[], &["-w", "1", "-t", "1"])
            } else {
                Server::spawn_by(&by, folder, &[], &["-b", "tcp://127.0.0.1:0", "--engine", "mruby"])
            };
            let log = || format!("{engine} {error}: {}", server.log());
            assert_eq!(server.text("/page"), page, "{}", log());
            assert_eq!(server.text("/long").len(), 10 * LONG, "{}", log());
            assert_eq!(server.client().post("/", "x".repeat(5 * LONG)).text(), (5 * LONG).to_string(), "{}", log());
            assert_eq!(server.text("/page").len(), LONG, "{}", log());
        }
    }
}
