//! One destination: its window, its breaker, its rate, its pauses, and whether it takes messages now.

use std::collections::HashMap;
use std::time::Duration;

use outbox_store::destination::{DestinationState, Ramp};
use outbox_store::{Message, Pause, PauseKind};
use tokio::time::Instant;

use crate::destinations::breaker::{Breaker, Signal, Transition};
use crate::destinations::holds::Holds;
use crate::destinations::rate::{Bucket, REST};
use crate::destinations::refusals::{Extent, Targets};
use crate::destinations::window::{Slots, Window};
use crate::destinations::{
    ANSWERS_EVICTED_AFTER, DestinationDecision, EVICTED_AFTER, FAILURES_EVICTED_AFTER, FAR, IDLE_AFTER, Limits,
};

/// How often a rising rate is saved while it is in use.
const SAVE_RISE: Duration = Duration::from_secs(10);

/// The time of a question about a destination, and the slots to share then.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Situation {
    pub(crate) now: Instant,
    pub(crate) slots: Slots,
    /// How many more messages all slow destinations together may get.
    pub(crate) for_the_slow: usize,
    /// The bytes that slow destinations may still be sent, together.
    pub(crate) bytes_for_the_slow: u64,
}

/// What a destination may be sent now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// The destination may get this many more messages.
    Room(usize),
    /// The destination may get none before some answers are in, which come quickly.
    Full,
    /// The destination takes none: its rows are on hold.
    Closed(Closed),
}

/// Why a destination takes no messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Closed {
    /// The destination is paused.
    Paused {
        /// Who paused it, and what the pause holds.
        kind: PauseKind,
        /// The time until its end.
        remaining: Duration,
    },
    /// The breaker of the destination is open.
    Broken {
        /// The time until the next probe.
        remaining: Duration,
    },
    /// The breaker of the destination waits for the results of its probes.
    Probing,
    /// The destination was sent what its rate allows.
    OverRate {
        /// The time between two messages at the rate.
        step: Duration,
    },
    /// The destination answers slowly, and has its share in flight.
    Slow {
        /// How long an answer takes.
        pace: Duration,
        /// The most messages that the destination may have in flight.
        share: usize,
    },
}

impl Closed {
    /// Whether the reason holds the whole channel that bears the name of this destination, or only targets without a
    /// URL. A server behind the channel's `base_url` that is down, slow or busy holds no other destination.
    pub(crate) fn holds_a_channel(&self) -> bool {
        match self {
            Self::Paused { kind, .. } => kind.holds_a_channel(),
            Self::Broken { .. } | Self::Probing | Self::OverRate { .. } | Self::Slow { .. } => false,
        }
    }
}

/// A destination, or a channel that was paused as a whole.
#[derive(Debug)]
pub(crate) struct Destination {
    /// The channels whose messages go to the destination.
    channels: Vec<String>,
    /// The strictest of the limits of these channels.
    limits: Limits,
    pub(super) window: Window,
    pub(super) breaker: Breaker,
    targets: Targets,
    pub(super) bucket: Option<Bucket>,
    pub(super) paused: Holds,
    /// The pauses that attempts led to, and whose marks are not written yet. The database does not know of them.
    unwritten: u32,
    /// When the last deferred row is due.
    pub(super) aside_until: Instant,
    /// Whether the deferred rows are to come back at once.
    pub(super) comes_back: bool,
    used: Instant,
    /// When a claim last met the destination, or something was learned of it.
    met: Instant,
    /// Whether the database may know of something that holds it, and was not asked.
    unsure: bool,
    rise_saved: Option<Instant>,
}

impl Destination {
    /// A destination of which nothing is known, for messages of `channel`. Where that channel has a rate, `burst`
    /// messages may go at once.
    pub(crate) fn of(channel: &str, allowed: &HashMap<String, Limits>, burst: usize, now: Instant) -> Self {
        let mut destination = Self {
            channels: Vec::new(),
            limits: Limits::default(),
            window: Window::new(now),
            breaker: Breaker::new(now),
            targets: Targets::default(),
            bucket: None,
            paused: Holds::default(),
            unwritten: 0,
            aside_until: now,
            comes_back: false,
            used: now,
            met: now,
            unsure: false,
            rise_saved: None,
        };
        destination.serve(channel, allowed, burst, now);
        destination
    }

    /// The same destination as one that the settings name, and no row: it is not in slow start.
    pub(crate) fn of_the_settings(mut self) -> Self {
        self.window.of_the_settings();
        self
    }

    /// Notes that messages of `channel` go to the destination too.
    fn serve(&mut self, channel: &str, allowed: &HashMap<String, Limits>, burst: usize, now: Instant) {
        if !self.channels.iter().any(|known| known == channel) {
            self.channels.push(channel.to_owned());
            self.keep_to(allowed, burst, now);
        }
    }

    /// Takes over new limits of its channels.
    pub(crate) fn reconfigure(&mut self, allowed: &HashMap<String, Limits>, now: Instant) {
        self.keep_to(allowed, 0, now);
        // The saved rise is that of the old rate.
        self.rise_saved = None;
    }

    /// Keeps to the strictest limits of its channels.
    fn keep_to(&mut self, allowed: &HashMap<String, Limits>, burst: usize, now: Instant) {
        self.limits = Limits::default();
        for limits in self.channels.iter().filter_map(|channel| allowed.get(channel)) {
            self.limits.tighten(limits);
        }
        match (self.limits.rate, &mut self.bucket) {
            (Some(rate), Some(bucket)) => bucket.keep_to(rate, now),
            (Some(rate), None) => self.bucket = Some(Bucket::new(rate, burst, Duration::ZERO, now)),
            (None, _) => self.bucket = None,
        }
    }

    /// Forgets what the database knows better: where `unsure`, it has to be asked. The messages in flight stay, and so does a
    /// pause that is not written yet.
    pub(crate) fn forget(&mut self, unsure: bool, now: Instant) {
        (self.aside_until, self.comes_back, self.unsure) = (now, false, unsure);
        self.window.forget_silence(now);
        if self.has_unwritten() {
            return;
        }
        self.paused = Holds::default();
        if !self.breaker.is_closed() {
            self.breaker = Breaker::new(now);
        }
    }

    pub(crate) fn take_over(&mut self, left: &DestinationState, now: Instant) {
        (self.met, self.unsure) = (now, false);
        self.held(left.pause, left.failures, now);
        self.aside_until = now + left.aside;
        if let (Some(rate), Some(Ramp { rising_for, unused_for })) = (self.limits.rate, left.ramp)
            && unused_for < REST
        {
            self.bucket = Some(Bucket::new(rate, 0, rising_for, now));
        }
    }

    /// Takes over what holds the destination, as the database has it.
    pub(crate) fn held(&mut self, pause: Option<(PauseKind, Duration)>, failures: u32, now: Instant) {
        match pause {
            // One that opened here since is newer.
            Some((PauseKind::Breaker, _)) if self.has_unwritten() && !self.breaker.is_closed() => {}
            Some((PauseKind::Breaker, remaining)) => self.breaker = Breaker::taken_over(failures, remaining, now),
            Some((kind @ (PauseKind::Manual | PauseKind::RetryAfter | PauseKind::Credential), remaining)) => {
                self.pause(kind, remaining, now);
            }
            None => {}
        }
    }

    /// Notes that an attempt led to a pause, which its mark is to write.
    pub(crate) fn is_to_be_written(&mut self) {
        self.unwritten += 1;
    }

    /// Notes that such a mark is written.
    pub(crate) fn written(&mut self) {
        self.unwritten = self.unwritten.saturating_sub(1);
    }

    /// Whether the database does not know yet of a pause of the destination.
    pub(crate) fn has_unwritten(&self) -> bool {
        self.unwritten > 0
    }

    pub(crate) fn pause(&mut self, kind: PauseKind, remaining: Duration, now: Instant) {
        self.paused.begin(kind, remaining, now);
        self.met = now;
    }

    /// Notes that the reason is gone for which rows of the destination wait.
    pub(crate) fn brings_back(&mut self) {
        self.comes_back = true;
    }

    /// Notes that the credential of the channel works, of which this bears the name.
    pub(crate) fn no_longer_barred(&mut self) {
        self.paused.end_barred();
        self.comes_back = true;
    }

    /// Notes that an operator resumed the destination: its failures and pauses are forgotten.
    pub(crate) fn resume(&mut self, now: Instant) {
        self.paused = Holds::default();
        self.breaker = Breaker::new(now);
        self.comes_back = true;
    }

    /// Notes that `message` was claimed.
    pub(crate) fn admitted(&mut self, message: &Message, allowed: &HashMap<String, Limits>, now: Instant) {
        self.serve(&message.channel, allowed, 1, now);
        self.targets.meets(&message.target, self.window.in_flight == 0);
        self.window.admitted(1, message.weight(), now);
        self.breaker.let_through();
        if let Some(bucket) = &mut self.bucket {
            bucket.take(1, now);
        }
        if self.has_its_fill(now) {
            self.targets.fill();
        }
        (self.used, self.met) = (now, now);
    }

    /// Notes that more messages wait than are on their way.
    pub(crate) fn more_wait(&mut self) {
        self.targets.fill();
    }

    pub(crate) fn released(&mut self, bytes: u64, now: Instant) {
        self.window.released(bytes);
        self.breaker.learn(Signal::None, self.window.in_flight, now);
    }

    /// Learns from an attempt that ended. `bytes` are those of `message`.
    pub(crate) fn answered(
        &mut self,
        message: &Message,
        signal: Signal,
        bytes: u64,
        took: Duration,
        slots: Slots,
        now: Instant,
    ) -> DestinationDecision {
        self.window.released(bytes);
        self.window.has_answered |= signal == Signal::Good;
        if signal != Signal::None {
            self.targets.end();
            let most = slots.share(self.limits.max_in_flight, self.window.is_slow(now));
            self.window.answered(took, most, now);
        }
        (self.used, self.met) = (now, now);
        let (name, signal) = (&message.destination, self.weighed(signal, &message.target, now));
        match self.breaker.learn(signal, self.window.in_flight, now) {
            Transition::Stay => DestinationDecision::default(),
            Transition::StillOpen(remaining) => {
                DestinationDecision { deferred: Some(remaining), ..DestinationDecision::default() }
            }
            Transition::Open(remaining) => {
                tracing::warn!(destination = name, pauses = self.breaker.failures, ?remaining, "breaker.opened");
                let pause = Pause { destination: name.clone(), remaining, kind: PauseKind::Breaker };
                DestinationDecision { deferred: Some(remaining), pause: Some(pause), at_fault: false }
            }
            Transition::Close => {
                tracing::info!(destination = name, "breaker.closed");
                self.comes_back = true;
                DestinationDecision::default()
            }
        }
    }

    /// What an attempt to deliver to `target` says of the whole destination. A message that was first tried before the last
    /// success is itself at fault.
    fn weighed(&mut self, signal: Signal, target: &str, now: Instant) -> Signal {
        match signal {
            Signal::Good => self.targets.accepts(),
            Signal::Refused { trying_for, asks } if !self.breaker.worked_within(trying_for, now) => {
                return match self.targets.refuses(target, asks) {
                    Extent::Target => signal,
                    Extent::Known => Signal::Bad { trying_for },
                    Extent::All => Signal::Down,
                };
            }
            Signal::Refused { .. } | Signal::Bad { .. } | Signal::Down | Signal::None => {}
        }
        signal
    }

    /// Whether a target that asks for a pause speaks for the whole destination.
    pub(crate) fn speaks_for_all(&self) -> bool {
        self.targets.speak_for_all()
    }

    /// What the destination may be sent.
    pub(crate) fn standing(&mut self, at: &Situation) -> Standing {
        if let Some((kind, until)) = self.paused.on(at.now) {
            return Standing::Closed(Closed::Paused { kind, remaining: until - at.now });
        }
        if let Some(remaining) = self.breaker.open_for(at.now) {
            return Standing::Closed(Closed::Broken { remaining });
        }
        if let Some(room) = self.breaker.probes_left() {
            return if room == 0 { Standing::Closed(Closed::Probing) } else { Standing::Room(room) };
        }
        let allowed = self.bucket.as_mut().map_or(usize::MAX, |bucket| bucket.available(at.now));
        if let (0, Some(bucket)) = (allowed, &self.bucket) {
            return Standing::Closed(Closed::OverRate { step: bucket.step() });
        }
        self.room(at).map_or_else(|full| full, |room| Standing::Room(room.min(allowed)))
    }

    /// Whether the destination was sent all that it may get now, whoever else takes slots.
    fn has_its_fill(&mut self, now: Instant) -> bool {
        self.window.room(self.limits.max_in_flight.unwrap_or(usize::MAX)) == 0
            || self.breaker.probes_left() == Some(0)
            || self.bucket.as_mut().is_some_and(|bucket| bucket.available(now) == 0)
    }

    fn room(&self, at: &Situation) -> Result<usize, Standing> {
        let slow = self.window.is_slow(at.now);
        let share = at.slots.share(self.limits.max_in_flight, slow);
        let together = if slow && self.limits.max_in_flight.is_none() { at.for_the_slow } else { usize::MAX };
        let bytes = if slow { self.window.messages_of(at.bytes_for_the_slow) } else { usize::MAX };
        match self.window.room(share).min(together).min(bytes) {
            0 if slow || self.window.silent_in(at.now).is_zero() => {
                Err(Standing::Closed(Closed::Slow { pace: self.window.pace(at.now), share }))
            }
            0 => Err(Standing::Full),
            room => Ok(room),
        }
    }

    /// How many messages the destination may have in flight now, and how many a second its rate allows.
    pub(crate) fn bounds(&self, at: &Situation) -> (usize, Option<f64>) {
        let share = at.slots.share(self.limits.max_in_flight, self.window.is_slow(at.now));
        (self.window.size(share), self.bucket.as_ref().map(|bucket| bucket.per_second(at.now)))
    }

    /// Whether the breaker lets a few messages through, to see whether the destination works again.
    pub(crate) fn is_tried(&self) -> bool {
        self.breaker.probes_left().is_some()
    }

    /// The messages in flight that count among the slots of slow destinations.
    pub(crate) fn in_flight_if_slow(&self, now: Instant) -> usize {
        let shares = self.limits.max_in_flight.is_none() && self.window.is_slow(now);
        if shares { self.window.in_flight } else { 0 }
    }

    /// The bytes in flight, where the destination is slow.
    pub(crate) fn bytes_if_slow(&self, now: Instant) -> u64 {
        if self.window.is_slow(now) { self.window.bytes } else { 0 }
    }

    /// Whether the destination has never answered.
    pub(crate) fn in_slow_start(&self) -> bool {
        !self.window.has_answered
    }

    /// The messages in flight, and their bytes.
    pub(crate) fn in_flight(&self) -> (usize, u64) {
        (self.window.in_flight, self.window.bytes)
    }

    /// How long nothing was sent to the destination.
    pub(crate) fn unused_for(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.used)
    }

    /// How long the rate has been rising, where that is to be saved now.
    pub(crate) fn rising_to_save(&mut self, now: Instant) -> Option<Duration> {
        let rising_for = self.bucket.as_ref()?.rising_for(now)?;
        let in_use = now - self.used < SAVE_RISE;
        let saved = self.rise_saved.is_some_and(|saved| now - saved < SAVE_RISE);
        if !in_use || saved {
            return None;
        }
        self.rise_saved = Some(now);
        Some(rising_for)
    }

    /// When a claim last met the destination, where it has nothing in flight and nothing waits to be brought back. So claims need
    /// not be told of it.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        (self.window.in_flight == 0 && !self.comes_back).then_some(self.met)
    }

    /// Until when what holds the destination now may hold it. None where nothing does.
    pub(crate) fn held_until(&mut self, now: Instant) -> Option<Instant> {
        let paused = self.paused.until();
        let broken = self.breaker.open_for(now).map(|remaining| now + remaining);
        // It fills while nothing is sent.
        let over_rate = self.bucket.as_mut().is_some_and(|bucket| !bucket.is_full(now)).then(|| now + FAR);
        [paused, broken, over_rate].into_iter().flatten().max().filter(|until| *until > now)
    }

    /// Whether the database may know of something that holds the destination, and was not asked.
    pub(crate) fn is_unsure(&self) -> bool {
        self.unsure
    }

    /// Notes that the database knows of nothing that holds the destination, but for what it was told.
    pub(crate) fn is_sure(&mut self) {
        self.unsure = false;
    }

    /// Whether nothing about the destination is to be remembered any longer.
    pub(crate) fn is_evictable(&self, now: Instant) -> bool {
        let rest = match (self.window.has_answered, self.breaker.has_failed) {
            (true, _) => ANSWERS_EVICTED_AFTER,
            (false, true) => FAILURES_EVICTED_AFTER,
            (false, false) => EVICTED_AFTER,
        };
        self.unused_for(now) >= rest
    }

    /// Whether nothing has been sent to the destination for a while, and it is quiet.
    pub(crate) fn is_idle(&mut self, now: Instant) -> bool {
        self.unused_for(now) >= IDLE_AFTER && self.is_quiet(now)
    }

    /// Whether the destination has nothing in flight, nothing holds it, and nothing waits to be brought back.
    pub(crate) fn is_quiet(&mut self, now: Instant) -> bool {
        self.window.in_flight == 0
            && self.paused.on(now).is_none()
            && (self.breaker.is_closed()
                || (self.breaker.open_for(now).is_none() && self.unused_for(now) >= FAILURES_EVICTED_AFTER))
            // A rate is kept to also where a message comes now and then.
            && self.bucket.as_mut().is_none_or(|bucket| bucket.is_full(now))
            && self.aside_until <= now
            && !self.comes_back
    }
}
