//! Leadership: campaigns for the lease, and then has the database mint the epoch that makes it a term.
//!
//! The lease says which replica should poll. The epoch says whose claims count. Only the second is believed.

use std::sync::Arc;
use std::time::Duration;

use outbox_adapters::Lease;
use outbox_store::store::OpenedTerm;
use outbox_store::{Holder, Lineages, SameDatabase, Shard, Store, TermEnd};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::backoff::Backoff;
use crate::metrics::Metrics;
use crate::term::Term;
use crate::term::clock::{Clock, Moment};
use crate::term::trust::{Trust, call_limit, trusted_until};
use crate::term::watchdog::Watchdog;
use outbox_config::campaign_interval;

/// After a release all candidates wake at once; each waits up to this long, so that none is always first.
const DRAW: Duration = Duration::from_millis(20);

/// Jitter lengthens a campaign interval by up to this factor.
const LONGEST_JITTER: f64 = 1.3;

/// The longest wait for the calls that end a term, when the database or the lease store does not answer.
const FAREWELL_LIMIT: Duration = Duration::from_secs(5);

/// Campaigns for one shard, one term after the other.
#[derive(Debug)]
pub struct Leadership {
    /// The shard to lead.
    pub shard: Shard,
    /// The random id of this process.
    pub instance: String,
    /// The time to live of the lease.
    pub ttl: Duration,
    /// The longest time of one term.
    pub interval: Duration,
    /// The lease store.
    pub lease: Arc<dyn Lease>,
    /// The outbox database.
    pub store: Arc<dyn Store>,
    /// What this process knows of the copies of the database.
    pub lineages: Arc<Lineages>,
    /// The source of time.
    pub clock: Arc<dyn Clock>,
    /// Where terms are counted.
    pub metrics: Arc<Metrics>,
    /// Whether this replica has campaigned before: only its first campaign waits for nothing.
    pub campaigned: bool,
    /// Whether its last term ended by a failure of its own: then the others go first.
    pub stands_back: bool,
    /// How many of its last terms in a row were fenced.
    pub fenced: u32,
}

/// The longest time that a candidate waits between two calls: the campaign interval with all of its jitter.
pub fn longest_campaign_pause(ttl: Duration) -> Duration {
    campaign_interval(ttl).mul_f64(LONGEST_JITTER) + DRAW
}

impl Leadership {
    /// Waits for the lease and begins the next term; none once `shutdown` is asked for.
    pub async fn next_term(&mut self, shutdown: &CancellationToken) -> Option<Arc<Term>> {
        let mut backoff = Backoff::new();
        loop {
            let (holder, sent) = self.campaign(shutdown).await?;
            match self.mint(&holder).await {
                Ok((opened, same)) => {
                    if let Some(until) = self.trust(&holder, sent).await {
                        return Some(self.begin(holder, opened, until, same, shutdown));
                    }
                    tracing::error!(shard = %self.shard, "term.not_begun: its lease is lost already");
                }
                Err(error) => tracing::error!(shard = %self.shard, %error, "term.not_begun"),
            }
            // Without the database no replica can poll, and without trust this one may not. Another replica may fare
            // better.
            self.give_up_lease(&holder).await;
            shutdown.run_until_cancelled(self.clock.sleep(backoff.next())).await?;
        }
    }

    /// Ends a term: its gate is closed already, its claims say so, and the lease goes to whoever asks first.
    /// What is in flight goes on, and is marked under its old claims.
    pub async fn hand_over(&mut self, term: &Term) {
        let why = term.end_reason().unwrap_or(TermEnd::Lost);
        if why == TermEnd::DatabaseChanged {
            // The next term is to find what this one knows and the database has lost.
            self.clock.within(FAREWELL_LIMIT, self.lineages.until_mended()).await;
            // Perhaps this replica reaches no database any more. Another one does.
            tokio::join!(self.say_farewell(term, why), self.give_up_lease(&term.id.holder));
        } else {
            self.say_farewell(term, why).await;
            self.give_up_lease(&term.id.holder).await;
        }
        self.stands_back = is_own_failure(why);
        self.note_fenced(term, why);
        self.metrics.term_ended(term.id.shard, why);
    }

    async fn say_farewell(&self, term: &Term, why: TermEnd) {
        let farewell = self.store.end_term(&term.id, why, term.counts());
        match self.clock.within(FAREWELL_LIMIT, farewell).await {
            Some(Ok(())) => {}
            Some(Err(error)) => tracing::warn!(epoch = %term.id.epoch, %error, "term.end_not_recorded"),
            None => tracing::warn!(epoch = %term.id.epoch, limit = ?FAREWELL_LIMIT, "term.end_not_recorded"),
        }
    }

    /// Two pollers at once for a moment can be. Twice in a row, the lease does not keep them apart.
    fn note_fenced(&mut self, term: &Term, why: TermEnd) {
        self.fenced = if why == TermEnd::Fenced { self.fenced + 1 } else { 0 };
        if self.fenced >= 2 {
            tracing::warn!(
                shard = %term.id.shard, epoch = %term.id.epoch, in_a_row = self.fenced,
                "term.fenced_again: another replica begins terms while this one holds the lease; has every replica the same \
                 lease.url? `outbox replicas` says"
            );
        }
    }

    /// Asks for the lease until it is won: at once, at each release, and every campaign interval. Gives the
    /// holder that won, and from when its lease counts: the first call of that holder, since a call without an
    /// answer may have taken effect. None once `shutdown` is asked for.
    async fn campaign(&mut self, shutdown: &CancellationToken) -> Option<(Holder, Moment)> {
        let mut holder = self.candidate();
        let mut first_sent = None;
        // A shutdown cancels no call half way: that call could win a lease which no replica renews.
        while shutdown.run_until_cancelled(self.turn()).await.is_some() {
            let (sent, shard) = (*first_sent.get_or_insert_with(|| self.clock.now()), self.shard.into());
            let (call, limit) = (self.lease.acquire(&shard, &holder, self.ttl), call_limit(self.ttl));
            match self.clock.within(limit, call).await {
                Some(Ok(true)) => return Some((holder, sent)),
                Some(Ok(false)) => (holder, first_sent) = (self.candidate(), None),
                Some(Err(error)) => tracing::warn!(shard = %self.shard, %error, "lease.campaign_failed"),
                None => tracing::warn!(shard = %self.shard, ?limit, "lease.campaign_timed_out"),
            }
        }
        if first_sent.is_some() {
            self.give_up_lease(&holder).await;
        }
        None
    }

    /// Waits until somebody gave the lease up (perhaps this replica) or the campaign interval is over; just after a
    /// failure of its own, until it is over.
    async fn turn(&mut self) {
        if std::mem::replace(&mut self.campaigned, true) {
            let pause = campaign_interval(self.ttl).mul_f64(rand::random_range(1.0..LONGEST_JITTER));
            if std::mem::take(&mut self.stands_back) {
                self.clock.sleep(pause).await;
            } else {
                self.clock.within(pause, self.lease.released(&self.shard.into())).await;
            }
        }
        self.clock.sleep(DRAW.mul_f64(rand::random::<f64>())).await;
    }

    fn candidate(&self) -> Holder {
        let nonce = Uuid::new_v4().simple().to_string();
        Holder::new(&self.instance, &nonce[..8])
    }

    /// Mints the epoch above all that any replica saw, in a database that none of them has left behind.
    async fn mint(&mut self, holder: &Holder) -> Result<(OpenedTerm, SameDatabase), String> {
        match self.clock.within(call_limit(self.ttl), self.lease.witness(&self.shard.into())).await {
            Some(Ok(())) => {}
            Some(Err(error)) => return Err(error.to_string()),
            None => return Err("the lease store did not say what other replicas saw of the database".to_owned()),
        }
        let minting = self.store.begin_term(self.shard, holder, self.lineages.highest_epoch());
        let opened = match self.clock.within(self.ttl, minting).await {
            Some(Ok(opened)) => opened,
            Some(Err(error)) => return Err(error.to_string()),
            None => return Err(format!("the outbox database minted no epoch within {:?}", self.ttl)),
        };
        match self.lineages.begin(opened.lineage.clone(), opened.epoch) {
            Ok(same) => Ok((opened, same)),
            Err(left_behind) => {
                self.store.distrust();
                // Another replica may see the database of now.
                self.stands_back = true;
                Err(left_behind)
            }
        }
    }

    /// The end of trust in the lease of a term that is about to begin. A long wait for the answer to a campaign, or for
    /// the database, may have used up the trust that the campaign gave. Then one renewal shows whether the lease still
    /// stands.
    async fn trust(&self, holder: &Holder, sent: Moment) -> Option<Moment> {
        let until = trusted_until(sent, self.ttl);
        if until > self.clock.now() {
            return Some(until);
        }
        self.watchdog().trust_anew(&self.shard.into(), holder).await
    }

    fn begin(
        &self,
        holder: Holder,
        opened: OpenedTerm,
        until: Moment,
        same: SameDatabase,
        shutdown: &CancellationToken,
    ) -> Arc<Term> {
        let term = Term::begin(self.shard, holder, opened, self.clock.clone(), until, same.clone());
        self.metrics.term_began(term.clone());
        tracing::info!(
            shard = %self.shard, holder = %term.id.holder, epoch = %term.id.epoch,
            unsettled = term.opened.unsettled.len(), "term.began"
        );
        self.watchdog().watch(&term);
        // The other replicas hear of the epoch at once, and not by the first renewal.
        let (lease, seat) = (self.lease.clone(), self.shard.into());
        tokio::spawn(async move { lease.witness(&seat).await });
        self.end_in_time(&term, same, shutdown.clone());
        term
    }

    /// Ends `term` when its interval is over, when its database is another one, or when the process is asked to stop.
    fn end_in_time(&self, term: &Arc<Term>, mut same: SameDatabase, shutdown: CancellationToken) {
        let (term, clock, interval) = (term.clone(), self.clock.clone(), self.interval);
        tokio::spawn(async move {
            tokio::select! {
                () = same.changed() => term.end(TermEnd::DatabaseChanged),
                () = clock.sleep(interval) => term.end(TermEnd::Interval),
                () = shutdown.cancelled() => term.end(TermEnd::Shutdown),
                () = term.ended() => {}
            }
        });
    }

    fn watchdog(&self) -> Watchdog {
        let trust = Trust { lease: self.lease.clone(), clock: self.clock.clone(), ttl: self.ttl };
        Watchdog { trust, lineages: self.lineages.clone() }
    }

    async fn give_up_lease(&self, holder: &Holder) {
        let seat = self.shard.into();
        let call = self.lease.release(&seat, holder);
        match self.clock.within(call_limit(self.ttl).min(FAREWELL_LIMIT), call).await {
            Some(Ok(_)) => {}
            Some(Err(error)) => tracing::warn!(%holder, %error, "lease.not_released"),
            None => tracing::warn!(%holder, "lease.not_released"),
        }
    }
}

/// Whether the reason is that this replica could not keep the term. Its next term may fare no better.
fn is_own_failure(why: TermEnd) -> bool {
    match why {
        TermEnd::RenewalFailed | TermEnd::Wedged => true,
        TermEnd::Interval | TermEnd::Lost | TermEnd::Shutdown | TermEnd::Fenced | TermEnd::DatabaseChanged => false,
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
#[cfg(test)]
#[path = "trust.rs"]
mod trust;
