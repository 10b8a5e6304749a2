//! Leadership: campaign for the lease, then have the database mint the epoch that makes it a term.
//!
//! The lease says who should poll; the epoch says whose claims count. Only the second is believed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use outbox_adapters::Lease;
use outbox_schema::store::OpenedTerm;
use outbox_schema::{ChannelTerms, Holder, Shard, Store, TermEnd};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::clock::{Clock, Moment};
use crate::metrics::Metrics;
use crate::term::Term;
use crate::watchdog::{Watchdog, trusted_until};

/// After a release all candidates wake at once; each waits up to this long, so that none is always first.
const DRAW: Duration = Duration::from_millis(20);

/// Jitter lengthens a campaign interval by up to this factor.
const LONGEST_JITTER: f64 = 1.3;

/// Longest wait for the words that end a term, when the database or the lease store does not answer.
const FAREWELL_LIMIT: Duration = Duration::from_secs(5);

/// Campaigns for one shard, one term after the other.
#[derive(Debug)]
pub struct Leadership {
    /// What is campaigned for.
    pub shard: Shard,
    /// Random id of this process.
    pub instance: String,
    /// Time to live of the lease.
    pub ttl: Duration,
    /// Longest that one term lasts.
    pub interval: Duration,
    /// The lease store.
    pub lease: Arc<dyn Lease>,
    /// The outbox database.
    pub store: Arc<dyn Store>,
    /// The configured channels, as the store must know them.
    pub channels: Arc<[ChannelTerms]>,
    /// Where time comes from.
    pub clock: Arc<dyn Clock>,
    /// Where terms are counted.
    pub metrics: Arc<Metrics>,
    /// Whether this replica has campaigned before: only its first campaign waits for nothing.
    pub campaigned: AtomicBool,
}

/// How often a candidate asks for the lease, before jitter: a crash costs at most the ttl and this.
pub fn campaign_interval(ttl: Duration) -> Duration {
    (ttl / 3).min(Duration::from_secs(1))
}

/// The longest that a candidate waits between two calls: the campaign interval with all of its jitter.
pub fn longest_campaign_pause(ttl: Duration) -> Duration {
    campaign_interval(ttl).mul_f64(LONGEST_JITTER) + DRAW
}

impl Leadership {
    /// Waits for the lease and begins the next term; none once `shutdown` is asked for.
    pub async fn next_term(&self, shutdown: &CancellationToken) -> Option<Arc<Term>> {
        let mut troubles = patience();
        loop {
            let (holder, sent) = tokio::select! {
                won = self.campaign() => won,
                () = shutdown.cancelled() => return None,
            };
            match self.mint(&holder).await {
                Ok(opened) => return Some(self.begin(holder, opened, sent, shutdown)),
                Err(error) => tracing::error!(shard = %self.shard, %error, "term.not_begun"),
            }
            // Without the database nobody can poll; another replica may be nearer to it.
            self.give_up_lease(&holder).await;
            let pause = troubles.next().unwrap_or(self.ttl);
            shutdown.run_until_cancelled(tokio::time::sleep(pause)).await?;
        }
    }

    /// Ends a term: its gate is closed already, its claims say so, and the lease goes to whoever asks first.
    /// What is in flight goes on, and is marked under its old claims.
    pub async fn hand_over(&self, term: &Term) {
        let why = term.end_reason().unwrap_or(TermEnd::Lost);
        let farewell = self.store.end_term(&term.id, why, term.counts());
        match tokio::time::timeout(FAREWELL_LIMIT, farewell).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(epoch = %term.id.epoch, %error, "term.end_not_recorded"),
            Err(_) => tracing::warn!(epoch = %term.id.epoch, limit = ?FAREWELL_LIMIT, "term.end_not_recorded"),
        }
        self.give_up_lease(&term.id.holder).await;
        self.metrics.term_ended(term.id.shard, why);
    }

    /// Asks for the lease until it is won: at once, at each release, and every campaign interval. Gives the
    /// holder that won, and from when its lease counts: the first call of that holder, since a call without an
    /// answer may have taken effect.
    async fn campaign(&self) -> (Holder, Moment) {
        let mut holder = self.candidate();
        let mut first_sent = None;
        loop {
            if self.campaigned.swap(true, Ordering::Relaxed) {
                // Whether somebody gave the lease up (perhaps this replica) or the time is over: ask.
                let pause = campaign_interval(self.ttl).mul_f64(rand::random_range(1.0..LONGEST_JITTER));
                let _ = tokio::time::timeout(pause, self.lease.released(self.shard)).await;
            }
            tokio::time::sleep(DRAW.mul_f64(rand::random::<f64>())).await;
            let sent = *first_sent.get_or_insert_with(|| self.clock.now());
            let call = self.lease.acquire(self.shard, &holder, self.ttl);
            match tokio::time::timeout(self.ttl / 6, call).await {
                Ok(Ok(true)) => return (holder, sent),
                Ok(Ok(false)) => (holder, first_sent) = (self.candidate(), None),
                Ok(Err(error)) => tracing::warn!(shard = %self.shard, %error, "lease.campaign_failed"),
                Err(_) => tracing::warn!(shard = %self.shard, limit = ?self.ttl / 6, "lease.campaign_timed_out"),
            }
        }
    }

    fn candidate(&self) -> Holder {
        let nonce = Uuid::new_v4().simple().to_string();
        Holder::new(&self.instance, &nonce[..8])
    }

    async fn mint(&self, holder: &Holder) -> Result<OpenedTerm, String> {
        let minting = self.store.begin_term(self.shard, holder, &self.channels);
        match tokio::time::timeout(self.ttl, minting).await {
            Ok(Ok(opened)) => Ok(opened),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("the outbox database minted no epoch within {:?}", self.ttl)),
        }
    }

    fn begin(&self, holder: Holder, opened: OpenedTerm, sent: Moment, shutdown: &CancellationToken) -> Arc<Term> {
        let trusted_until = trusted_until(sent, self.ttl);
        let term = Term::begin(self.shard, holder, opened, self.clock.clone(), trusted_until);
        self.metrics.term_began(self.shard, term.id.epoch);
        tracing::info!(
            shard = %self.shard, holder = %term.id.holder, epoch = %term.id.epoch,
            unsettled = term.opened.unsettled.len(), "term.began"
        );
        let watchdog = Watchdog {
            lease: self.lease.clone(),
            clock: self.clock.clone(),
            ttl: self.ttl,
            metrics: self.metrics.clone(),
        };
        watchdog.watch(&term);
        end_in_time(&term, self.interval, shutdown.clone());
        term
    }

    async fn give_up_lease(&self, holder: &Holder) {
        let call = self.lease.release(self.shard, holder);
        match tokio::time::timeout((self.ttl / 6).min(FAREWELL_LIMIT), call).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(%holder, %error, "lease.not_released"),
            Err(_) => tracing::warn!(%holder, "lease.not_released"),
        }
    }
}

/// Ends `term` when its interval is over or the process is asked to stop.
fn end_in_time(term: &Arc<Term>, interval: Duration, shutdown: CancellationToken) {
    let term = term.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = tokio::time::sleep(interval) => term.end(TermEnd::Interval),
            () = shutdown.cancelled() => term.end(TermEnd::Shutdown),
            () = term.ended() => {}
        }
    });
}

/// How long to wait after each failure in a row.
pub(crate) fn patience() -> impl Iterator<Item = Duration> {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(100))
        .with_max_delay(Duration::from_secs(2))
        .with_jitter()
        .without_max_times()
        .build()
}
