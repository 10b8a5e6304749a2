//! What the rest of the process may ask of a dispatcher while its loop runs.

use std::sync::Arc;

use tokio::sync::{Notify, watch};

use crate::destinations::{Destinations, DestinationsNow};
use crate::in_flight::InFlight;
use crate::metrics::Metrics;
use crate::poller::channels::{Channel, Channels};
use crate::poller::journal::Journal;
use crate::poller::marker_health::MarkerHealth;
use crate::poller::schedule_now::ScheduleNow;
use crate::poller::wake_ups::WakeUpListener;
use crate::reloadable::Reloadable;
use crate::term::Term;
use crate::term::liveness::Liveness;

/// A way to a dispatcher whose loop runs. All copies lead to the same one.
#[derive(Debug, Clone)]
pub struct Handle {
    pub(super) channels: Reloadable<Channels>,
    pub(super) destinations: Arc<Destinations>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) wakeup: Arc<Notify>,
    pub(super) listener: Arc<WakeUpListener>,
    pub(super) liveness: Arc<Liveness>,
    pub(super) marker_health: Arc<MarkerHealth>,
    pub(super) led: watch::Sender<Option<Arc<Term>>>,
    pub(super) in_flight: Arc<InFlight>,
    pub(super) journal: Arc<Journal>,
    pub(super) schedule: ScheduleNow,
}

impl Handle {
    /// From the next claim on these channels are in force. What is claimed goes on by those it was claimed under.
    pub fn reconfigure(&self, channels: impl IntoIterator<Item = Channel>) {
        let channels = Channels::new(channels);
        self.metrics.reconfigure(channels.names());
        self.destinations.reconfigure(channels.limits());
        self.channels.replace(channels);
        self.wakeup.notify_one();
    }

    /// Takes the wake-ups that the process itself is given.
    pub fn listener(&self) -> Arc<WakeUpListener> {
        self.listener.clone()
    }

    /// Whether marks can be written.
    pub fn marker_health(&self) -> Arc<MarkerHealth> {
        self.marker_health.clone()
    }

    /// The last term that this process led, which may have ended. None before the first one.
    pub fn terms(&self) -> watch::Receiver<Option<Arc<Term>>> {
        self.led.subscribe()
    }

    /// How many messages are in flight now.
    pub fn in_flight(&self) -> usize {
        self.in_flight.count()
    }

    /// What the process knows of its destinations, and what is in flight, while it polls.
    pub fn destinations(&self) -> DestinationsNow {
        DestinationsNow::new(self.destinations.clone(), self.in_flight.clone(), self.terms())
    }

    /// What the schedule says, while it is in use.
    pub fn schedule(&self) -> ScheduleNow {
        self.schedule.clone()
    }

    /// What the process claimed and marked lately.
    pub fn journal(&self) -> Arc<Journal> {
        self.journal.clone()
    }

    /// Whether the loop is alive.
    pub fn liveness(&self) -> Arc<Liveness> {
        self.liveness.clone()
    }
}
