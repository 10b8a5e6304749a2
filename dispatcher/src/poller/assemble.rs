//! Puts a dispatcher together from its ports: the store, the lease, the adapters and the clock.

use std::sync::Arc;
use std::time::Duration;

use outbox_adapters::Lease;
use outbox_store::{DestinationStore, Lineages, Pruning, Retention, Shard, Store};
use tokio::runtime;
use tokio::sync::{Notify, mpsc, watch};

use crate::destinations::{DeferralWorker, Destinations, DestinationsNow};
use crate::in_flight::InFlight;
use crate::metrics::Metrics;
use crate::poller::channels::{Channel, Channels};
use crate::poller::handle::Handle;
use crate::poller::intake::{Intake, UnderWay};
use crate::poller::journal::Journal;
use crate::poller::mark::Marker;
use crate::poller::marker_health::MarkerHealth;
use crate::poller::measure::Measure;
use crate::poller::poll::{Dispatcher, LoopSettings};
use crate::poller::poll_backoff::PollBackoff;
use crate::poller::quarantine::Quarantine;
use crate::poller::schedule_now::ScheduleNow;
use crate::poller::send::Sender;
use crate::poller::settling::Settling;
use crate::poller::wake_ups::{WakeUpListener, WakeUpSource};
use crate::reloadable::Reloadable;
use crate::retention::Pruner;
use crate::schedule::Capacity;
use crate::schedule::Schedule;
use crate::term::clock::Clock;
use crate::term::leadership::Leadership;
use crate::timeout::Timeout;

/// The headers of due rows that a schedule holds, for each slot, and in all.
const HEADERS_OF_A_SLOT: usize = 64;
const LEAST_HEADERS: usize = 16_384;
const MOST_HEADERS: usize = 131_072;

/// The parts of a dispatcher.
#[derive(Debug)]
pub struct Parts {
    /// The random id of this process.
    pub instance: String,
    /// The outbox database.
    pub store: Arc<dyn Store>,
    /// The outbox database, for what is about destinations.
    pub destinations: Arc<dyn DestinationStore>,
    /// The lease store.
    pub lease: Arc<dyn Lease>,
    /// What the connections of this process, and the lease store, tell of failovers of the database.
    pub lineages: Arc<Lineages>,
    /// The configured channels.
    pub channels: Vec<Channel>,
    /// The source of time.
    pub clock: Arc<dyn Clock>,
    /// Where events are counted.
    pub metrics: Arc<Metrics>,
    /// Removes old rows, by this retention. None: nothing is removed.
    pub retention: Option<(Arc<dyn Pruning>, Reloadable<Retention>)>,
    /// The source of wake-ups. None: there are no wake-ups.
    pub wake_ups: Option<WakeUpSource>,
    /// Where attempts are made.
    pub wire: runtime::Handle,
    /// Its numbers.
    pub settings: Settings,
}

/// The numbers of a dispatcher. `defaults.toml` says what they mean.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// `lease.ttl`.
    pub lease_ttl: Duration,
    /// `lease.term`.
    pub term: Duration,
    /// `dispatch.poll_interval`.
    pub poll_interval: Duration,
    /// `dispatch.max_in_flight`.
    pub max_in_flight: usize,
    /// `dispatch.max_bytes`.
    pub max_bytes: u64,
    /// `dispatch.drain_timeout`, a number that follows from `dispatch.wakeup`, and `--until-empty`.
    pub run: LoopSettings,
}

impl Dispatcher {
    /// Assembles a dispatcher from these parts, and starts its marker. Needs a Tokio runtime.
    pub fn assemble(parts: Parts) -> Self {
        let Parts {
            store,
            destinations: destination_store,
            channels,
            metrics,
            retention,
            wake_ups,
            wire,
            settings,
            ..
        } = parts;
        let (slots, ttl, channels) = (settings.max_in_flight, settings.lease_ttl, Channels::new(channels));
        let store: Arc<dyn Store> = Arc::new(Timeout::new(store, ttl));
        let destination_store: Arc<dyn DestinationStore> = Arc::new(Timeout::new(destination_store, ttl));
        let (wakeup, in_flight) = (Arc::new(Notify::new()), Arc::new(InFlight::new(slots)));
        let destinations = Arc::new(Destinations::new(slots, settings.max_bytes, channels.limits()));
        let (channels, listener) = (Reloadable::new(channels), Arc::new(WakeUpListener::new(wakeup.clone())));
        let (marker_health, journal) = (Arc::new(MarkerHealth::new(ttl)), Arc::<Journal>::default());
        let led = watch::Sender::default();
        let quarantine = Arc::new(Quarantine::new(in_flight.clone(), wakeup.clone()));
        let known = DestinationsNow::new(destinations.clone(), in_flight.clone(), led.subscribe());
        let (schedule, questions) = ScheduleNow::new(known);
        let handle = Handle {
            channels: channels.clone(),
            destinations: destinations.clone(),
            metrics: metrics.clone(),
            wakeup: wakeup.clone(),
            listener: listener.clone(),
            liveness: Arc::default(),
            marker_health: marker_health.clone(),
            led,
            in_flight: in_flight.clone(),
            journal: journal.clone(),
            schedule,
        };
        let (marks, sent) = mpsc::unbounded_channel();
        let marker = marker(&handle, store.clone(), parts.lineages.clone(), quarantine.clone(), ttl);
        tokio::spawn(marker.run_watched(sent));
        let intake = Intake {
            store: store.clone(),
            schedule: Schedule::new(capacity(slots, settings.max_bytes)),
            in_flight: in_flight.clone(),
            journal,
            quarantine: quarantine.clone(),
            channels: channels.clone(),
            destinations: destinations.clone(),
            wakeup: wakeup.clone(),
            poll_backoff: PollBackoff::new(settings.run.expects_wake_ups, listener),
            size: Arc::new(Measure::new(ttl)),
            marker_health: marker_health.clone(),
            poll_interval: settings.poll_interval,
            lease_ttl: ttl,
            until_empty: settings.run.until_empty,
            metrics: metrics.clone(),
            questions,
            now: UnderWay::default(),
        };
        Self {
            pruner: retention.map(|(pruning, kept)| Pruner::new(pruning, kept, in_flight.clone(), metrics.clone())),
            leadership: Leadership {
                shard: Shard::default(),
                instance: parts.instance,
                ttl,
                interval: settings.term,
                lease: parts.lease,
                store: store.clone(),
                lineages: parts.lineages,
                clock: parts.clock,
                metrics: metrics.clone(),
                campaigned: false,
                stands_back: false,
                fenced: 0,
            },
            settling: Arc::new(Settling {
                store,
                in_flight: in_flight.clone(),
                quarantine,
                channels,
                wakeup: wakeup.clone(),
                marker_health,
                metrics: metrics.clone(),
                unanswered: parking_lot::Mutex::default(),
            }),
            intake: Box::new(intake),
            wake_ups,
            sender: Arc::new(Sender { destinations: destinations.clone(), marks, metrics }),
            deferral_worker: Arc::new(DeferralWorker::new(destination_store, destinations, in_flight.clone(), wakeup)),
            in_flight,
            wire,
            settings: settings.run,
            handle,
        }
    }
}

fn marker(
    handle: &Handle,
    store: Arc<dyn Store>,
    lineages: Arc<Lineages>,
    quarantine: Arc<Quarantine>,
    ttl: Duration,
) -> Marker {
    Marker {
        store,
        in_flight: handle.in_flight.clone(),
        journal: handle.journal.clone(),
        lineages,
        quarantine,
        destinations: handle.destinations.clone(),
        wakeup: handle.wakeup.clone(),
        health: handle.marker_health.clone(),
        size: Measure::new(ttl),
        metrics: handle.metrics.clone(),
    }
}

fn capacity(slots: usize, bytes: u64) -> Capacity {
    Capacity { slots, bytes, headers: (slots * HEADERS_OF_A_SLOT).clamp(LEAST_HEADERS, MOST_HEADERS) }
}
