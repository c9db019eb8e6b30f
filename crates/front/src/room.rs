//! Places for connections where nobody may keep others out: when all are taken and somebody new comes, the connection
//! that has asked for nothing the longest is closed.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::link::Link;

/// One that was told to go is gone much sooner; where none can be told, as all wait for answers, it is looked again.
const LOOK: Duration = Duration::from_millis(50);
/// The log says at most so often that places were short.
const SAID_EACH: Duration = Duration::from_secs(60);

/// All connections of one front, as far as they live.
#[derive(Default)]
pub(crate) struct Room(Mutex<Inside>);

#[derive(Default)]
struct Inside {
    open: Vec<Weak<Link>>,
    said: Option<Instant>,
}

impl Room {
    /// A connection begins.
    pub(crate) fn enter(&self, link: &Arc<Link>) {
        let mut inside = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inside.open.retain(|one| one.strong_count() > 0);
        inside.open.push(Arc::downgrade(link));
    }

    /// A place for somebody who is here already.
    pub(crate) async fn place(&self, permits: &Arc<Semaphore>, places: usize) -> Option<OwnedSemaphorePermit> {
        if let Ok(permit) = permits.clone().try_acquire_owned() {
            return Some(permit);
        }
        loop {
            self.dismiss(places);
            tokio::select! {
                permit = permits.clone().acquire_owned() => return permit.ok(),
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    /// Closes the connection that has asked for nothing the longest, unless all wait for an answer.
    fn dismiss(&self, places: usize) {
        let mut inside = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let open = inside.open.iter().filter_map(Weak::upgrade);
        let Some(link) = open.filter(|link| !link.is_asked() && !link.is_dismissed()).min_by_key(|link| link.heard())
        else {
            return;
        };
        link.dismiss();
        if inside.said.is_none_or(|said| said.elapsed() >= SAID_EACH) {
            inside.said = Some(Instant::now());
            let peer = link.peer.remote.map_or_else(|| "a Unix socket".to_owned(), |peer| peer.to_string());
            tracing::warn!(
                target: "front",
                "all {places} places for connections are taken: those that ask nothing are closed for new ones, first \
                 one from {peer}"
            );
        }
    }
}
