//! The SETUP frame, which tells a mold what to load, and how.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::preload::Preload;
use crate::settings::{PUMA_SINGLE, Settings};
use crate::wire::frames::{frame, kind, put_item};

/// Returns the SETUP frame. `preload` and `max_workers` may have changed since the settings were made; `needs_native`
/// is false once the engine has started.
pub fn setup(settings: &Settings, preload: Preload, max_workers: usize, needs_native: bool) -> Bytes {
    // Bytes: a path need not be UTF-8.
    let of = |path: &Path| path.as_os_str().as_bytes().to_vec();
    let path = |path: &Option<PathBuf>| path.as_deref().map_or_else(Vec::new, of);
    let yes = |is_so: bool| if is_so { "yes" } else { "" }.into();
    let pairs: [(&str, Vec<u8>); 23] = [
        ("rackup", of(&settings.rackup)),
        ("environment", settings.environment.clone().into()),
        ("hooks", path(&settings.hooks)),
        ("hooks_kind", settings.hooks_kind.clone().into()),
        ("hooks_names", settings.hooks_names.join(",").into()),
        ("passenger", yes(settings.is_passenger)),
        ("threads", settings.threads.to_string().into()),
        ("max_threads", settings.max_threads.to_string().into()),
        ("spares_databases", yes(settings.spares_databases)),
        ("workers", settings.first_workers.to_string().into()),
        ("gemfile", path(&settings.gemfile)),
        ("software", engine::env::SOFTWARE.into()),
        ("native", settings.native.iter().map(|path| of(path)).collect::<Vec<_>>().join(&b'\n')),
        ("needs_native", yes(needs_native)),
        ("oob_gc", yes(settings.oob_gc)),
        ("early_hints", yes(settings.early_hints)),
        ("batch", yes(settings.is_batch)),
        ("files", yes(settings.user.is_none())),
        ("memory", yes(settings.user.is_none())),
        ("direct", yes(settings.user.is_none())),
        ("tag", settings.tag.clone().into()),
        ("single", yes(is_single(settings, max_workers))),
        ("preload", preload.as_str().into()),
    ];
    let overriding = settings.evaluated.as_ref().map(|evaluated| evaluated.overriding.clone()).unwrap_or_default();
    let overriding = overriding.pairs().map(|(name, value)| (name, value.as_bytes().to_vec()));
    frame(kind::SETUP, |out| {
        for (name, value) in pairs.into_iter().chain(overriding) {
            put_item(out, name.as_bytes());
            put_item(out, &value);
        }
    })
}

/// Returns whether `rack.multiprocess` is false. With configuration files of Puma's cluster mode, Unicorn and Pitchfork
/// it is true even with one worker, as in those servers.
fn is_single(settings: &Settings, max_workers: usize) -> bool {
    max_workers == 1 && matches!(settings.hooks_kind.as_str(), "" | PUMA_SINGLE)
}
