//! A worker comes in by several connections, and is taken in when all are there.

use std::sync::Arc;

use engine::wear::quota;
use tokio::net::UnixStream;

use crate::event::Speaker;
use crate::orders;
use crate::reason::Reason;
use crate::slot::Slot;
use crate::work::Work;
use crate::worker::Worker;

impl Work {
    pub(crate) fn control_came(&mut self, worker: u32, pid: u32, stream: UnixStream) {
        let events = self.events.clone();
        let Some(booting) = self.workers.get_mut(&worker) else { return };
        booting.pid = Some(pid);
        booting.control = Some(Arc::new(orders::listen(stream, Speaker::Worker(worker), events)));
    }

    /// A worker has opened all its connections and run its hooks.
    pub(crate) fn worker_ready(&mut self, id: u32, has_errands: bool) {
        if let Some(booting) = self.workers.get_mut(&id) {
            booting.has_said_so = true;
            booting.has_errands = has_errands;
        }
        self.take_in(id);
    }

    /// Connections come in side by side: the last word decides.
    pub(crate) fn take_in(&mut self, id: u32) {
        let Some(booting) = self.workers.get_mut(&id) else { return };
        if !booting.has_said_so || booting.is_ready || booting.slots.len() < self.settings.threads {
            return;
        }
        let (Some(pid), Some(control)) = (booting.pid, booting.control.clone()) else { return };
        let mut streams = std::mem::take(&mut booting.slots);
        streams.sort_by_key(|(number, _)| *number);
        let (lane_number, lane) = self.pool.lane(id);
        let mut slots = Vec::new();
        for (number, stream) in streams {
            let made = {
                let _in = lane.enter();
                UnixStream::from_std(stream)
            };
            let Ok(stream) = made else { return };
            let (reader, writer) = stream.into_split();
            let slot = Slot::new(id, number, control.clone(), writer).of_process(pid, self.settings.user.is_none());
            let slot = Arc::new(slot);
            let flushing = slot.clone();
            let reading = self.pool.clone().read(slot.clone(), reader);
            drop(lane.spawn(async move {
                // The flusher ends with the reader.
                tokio::select! {
                    () = reading => {}
                    () = flushing.keep_flushing() => {}
                }
            }));
            slots.push(slot);
        }
        booting.is_ready = true;
        let took = booting.since.elapsed();
        let (app, ms, time) = (self.settings.app.as_deref(), took.as_secs_f64() * 1e3, engine::brief(took));
        tracing::debug!(target: "engine", worker = id, pid, ms, app, "worker {id} (pid {pid}) ready after {time}");
        if self.is_stopping {
            control.stop();
        }
        let mut worker = Worker::new(id, pid.cast_signed(), lane_number, control, slots);
        worker.quota = quota(self.settings.max_requests, self.settings.max_requests_jitter);
        worker.has_errands = booting.has_errands;
        let is_late = booting.is_leaving;
        self.pool.add(worker);
        if is_late {
            self.pool.retire(id, Reason::Scale);
        }
        self.backoff.worked();
        self.has_started();
    }
}
