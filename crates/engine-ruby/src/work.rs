//! All that is known of the processes of one engine: which there are, which there should be, and what was last seen of
//! them. What changes it is in `supervisor` and the files that this names.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;

use crate::backoff::Backoff;
use crate::budget::Share;
use crate::door::Pass;
use crate::event::{Event, Outcome, Prepared};
use crate::headroom::Headroom;
use crate::place::Place;
use crate::pool::Pool;
use crate::process::{Booting, Mold};
use crate::reason::Reason;
use crate::reminder::Reminder;
use crate::settings::Settings;
use crate::start_error::StartError;

/// How often it looks for what is late, idle or ill.
pub const LOOK: Duration = Duration::from_millis(100);

/// What a mold says of itself when it is ready.
pub type Facts = Vec<(String, String)>;

/// The supervisor at work.
pub struct Work {
    pub settings: Settings,
    pub pool: Arc<Pool>,
    pub place: Place,
    /// Places that were not whole any more: workers may still come in there.
    pub old_places: Vec<Place>,
    pub pass: Arc<Pass>,
    pub events: UnboundedSender<Event>,
    /// Empty once the start has been answered for.
    pub told: Option<SyncSender<Result<Facts, StartError>>>,
    pub facts: Facts,
    pub molds: HashMap<u32, Mold>,
    pub workers: HashMap<u32, Booting>,
    pub next: u32,
    /// How many workers there should be now; between `min_workers` and `max_workers` of the settings.
    pub wanted: usize,
    /// The connections for which the application is loaded in each worker although nobody has asked for that.
    pub not_shared: Option<String>,
    /// Our part of a number of workers that is shared with others.
    pub share: Option<Share>,
    /// Workers that should be replaced, one after the other, and why.
    pub worn: VecDeque<(u32, Reason)>,
    pub health: Health,
    pub headroom: Headroom,
    /// Who waits for the backtraces with this number, and the last one.
    pub asked: HashMap<u32, SyncSender<Outcome>>,
    pub next_question: u32,
    /// The mold that runs the hooks `before_exec`, and who waits for what comes of them.
    pub preparing: Option<(u32, SyncSender<Prepared>)>,
    pub backoff: Backoff,
    pub reminder: Reminder,
    pub is_stopping: bool,
    /// The start has failed: there is nothing to go on with.
    pub is_over: bool,
}

impl Work {
    /// Nothing is started yet.
    pub fn new(
        settings: Settings,
        pool: Arc<Pool>,
        (place, pass): (Place, Arc<Pass>),
        events: UnboundedSender<Event>,
        told: SyncSender<Result<Facts, StartError>>,
    ) -> Work {
        let share = settings.budget.as_ref().map(|budget| budget.join(events.clone()));
        let now = Instant::now();
        pool.dispatch().usage.grown(settings.min_workers, now);
        Work {
            wanted: settings.min_workers,
            settings,
            pool,
            place,
            old_places: Vec::new(),
            pass,
            events,
            told: Some(told),
            facts: Facts::new(),
            molds: HashMap::new(),
            workers: HashMap::new(),
            next: 1,
            not_shared: None,
            share,
            worn: VecDeque::new(),
            health: Health::new(now),
            headroom: Headroom::new(),
            asked: HashMap::new(),
            next_question: 0,
            preparing: None,
            backoff: Backoff::new(now),
            reminder: Reminder::new(now),
            is_stopping: false,
            is_over: false,
        }
    }
}

/// What is known of the last looks at their health.
pub struct Health {
    pub pinged: Instant,
    pub weighed: Option<Instant>,
    pub is_weighing: bool,
    pub has_complained: bool,
    /// The log already says that no thread could be had to look at memory.
    pub lacks_threads: bool,
    /// The worker that was sent away last, and when.
    pub draining: Option<(u32, Instant)>,
}

impl Health {
    /// Nothing has been looked at.
    pub fn new(now: Instant) -> Health {
        Health {
            pinged: now,
            weighed: None,
            is_weighing: false,
            has_complained: false,
            lacks_threads: false,
            draining: None,
        }
    }
}
