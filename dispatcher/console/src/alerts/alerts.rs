//! Tells people of what they should not have to look for: dead letters beyond a rate, that no replica polls, and late jobs. It does so
//! beside the loop, on connections of the listener, and never on the way of a message.
//!
//! What there is to tell is read from the database, so it survives a change of poller. Who tells it is decided there too, by a
//! conditional write: of a fleet one replica tells, and at most once in a window.

use std::sync::Arc;
use std::time::Duration;

use outbox_desk::{DeadGroup, DeadLetterFilter, Desk, Moment, Selection};
use outbox_store::alerts::{AlertClaim, PollerStanding};
use outbox_store::{Database, DeadReason, Shard};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::in_time::in_time;

use super::alert::{Alert, Sender};
use super::webhook::Webhook;
use outbox_config::{AlertsConfig, Config, DeadRate};
use outbox_dispatcher::fault_point::{self, Point};
use outbox_dispatcher::metrics::Metrics;
use outbox_dispatcher::reloadable::Reloadable;
use outbox_dispatcher::term::Term;

/// How often a replica looks whether there is something to tell.
const EACH: Duration = Duration::from_secs(5);

/// How long the database has for one step.
const LIMIT: Duration = Duration::from_secs(5);

/// How long the database has to count dead letters.
const COUNT_LIMIT: Duration = Duration::from_secs(30);

/// A count of dead letters reads all that died within its time, so the next one waits this many times as long as it took.
const REST_PER_COUNT: u32 = 50;

/// How long the right to tell something lasts: longer than all tries of a post.
const CLAIM: Duration = Duration::from_secs(30);

/// How long what could not be told is left alone, at most.
const PAUSE: Duration = Duration::from_mins(1);

/// What is told, and where.
#[derive(Debug)]
pub struct Alerts {
    config: AlertsConfig,
    webhook: Webhook,
}

impl Alerts {
    /// The alerts of these settings. None where nothing is told.
    ///
    /// # Errors
    /// The webhook cannot be read from where it is kept, or is no URL.
    pub fn of(config: &Config) -> anyhow::Result<Option<Self>> {
        let Some(config) = config.alerts.clone() else { return Ok(None) };
        let webhook = Webhook::new(&config)?;
        Ok(Some(Self { config, webhook }))
    }

    /// What is told, in words, without the webhook.
    pub fn in_words(&self) -> String {
        let AlertsConfig { format, on_dead_rate, on_no_poller, on_job_late, window, .. } = &self.config;
        let time = |time: &Duration| humantime::format_duration(*time).to_string();
        let rate = on_dead_rate.as_ref().map(|rate| format!("dead letters ({rate})"));
        let poller = on_no_poller.as_ref().map(|patience| format!("that no replica polls (for {})", time(patience)));
        let jobs = on_job_late.then(|| "late jobs".to_owned());
        let told = rate.into_iter().chain(poller).chain(jobs).collect::<Vec<_>>().join(" and ");
        format!("{told} are told, as {}, each at most once in {}", format.as_str(), time(window))
    }

    /// Whether the posts can be read on the network.
    pub fn is_in_the_clear(&self) -> bool {
        self.webhook.is_in_the_clear()
    }

    /// Posts something that says it is a test.
    ///
    /// # Errors
    /// Why it was not taken.
    pub async fn try_out(&self, environment: &str) -> Result<(), String> {
        let sender = Sender { environment: environment.to_owned(), outbox_id: None, replica: None };
        self.webhook.post(&Alert::Test.body(&sender, &self.config)).await
    }
}

/// Watches an outbox for what is to be told.
pub struct AlertWatch {
    /// The outbox database.
    pub database: Database,
    /// The settings in force. None: nothing is told.
    pub alerts: Reloadable<Option<Alerts>>,
    /// The terms that this process leads, one after the other.
    pub terms: watch::Receiver<Option<Arc<Term>>>,
    /// `lease.term`: no term is valid for longer.
    pub longest_term: Duration,
    /// Where posts are counted.
    pub metrics: Arc<Metrics>,
    /// `database.environment`, which a post begins with.
    pub environment: String,
    /// The id of the outbox.
    pub outbox_id: String,
    /// The name of this replica.
    pub replica: String,
}

/// The state of the watch between its looks.
struct Watching {
    /// Since when the database has answered each look. A replica tells that nobody polls only if it has seen that for long enough.
    since: Option<Instant>,
    counts_at: Instant,
    /// Whether the log knows that nothing can be found out.
    logged: bool,
}

impl AlertWatch {
    /// Watches until `ended`, and once more then, so that a run of a few seconds tells too. Nothing waits for it.
    pub async fn watch(mut self, ended: CancellationToken) {
        let mut watching = Watching { since: None, counts_at: Instant::now(), logged: false };
        loop {
            let over = ended.is_cancelled();
            let alerts = self.alerts.clone().current();
            if let Some(alerts) = alerts.as_ref() {
                if let Err(why) = self.look(alerts, &mut watching, over).await {
                    watching.since = None;
                    if !std::mem::replace(&mut watching.logged, true) {
                        tracing::warn!(
                            why,
                            "alerts.blind: it cannot be found out whether there is something to tell. Messages go out all the same"
                        );
                    }
                } else {
                    watching.logged = false;
                }
            } else {
                watching.since = None;
            }
            if over {
                return;
            }
            tokio::select! {
                () = ended.cancelled() => {}
                () = tokio::time::sleep(EACH) => {}
                Ok(()) = self.terms.changed() => {}
            }
        }
    }

    async fn look(&self, alerts: &Alerts, watching: &mut Watching, over: bool) -> Result<(), String> {
        let term = self.terms.borrow().clone();
        // A process that ends has ended its term before.
        let leads = term.is_some_and(|term| over || term.is_on());
        let standing = in_time(LIMIT, self.database.poller_standing(Shard::default())).await?;
        let standing =
            standing.ok_or("the rows of outbox_alert are gone: run `outbox migrate` of this release anew")?;
        let since = *watching.since.get_or_insert_with(Instant::now);
        if let Some(patience) = alerts.config.on_no_poller.filter(|_| !over) {
            self.poller(alerts, &standing, patience, since.elapsed(), leads).await?;
        }
        if alerts.config.on_job_late && leads && !over {
            let mut jobs = in_time(LIMIT, self.database.jobs()).await?;
            jobs.retain(|job| job.late);
            if !jobs.is_empty() {
                self.tell(alerts, &Alert::JobLate { jobs }).await?;
            }
        }
        match alerts.config.on_dead_rate {
            Some(rate) if leads && (over || watching.counts_at <= Instant::now()) => {
                let began = Instant::now();
                let groups = self.dead_within(rate).await?;
                watching.counts_at = Instant::now() + began.elapsed() * REST_PER_COUNT;
                if groups.iter().map(|group| group.count).sum::<u64>() >= rate.letters {
                    self.tell(alerts, &Alert::DeadRate { rate, groups }).await?;
                }
                Ok(())
            }
            Some(_) | None => Ok(()),
        }
    }

    async fn poller(
        &self,
        alerts: &Alerts,
        standing: &PollerStanding,
        patience: Duration,
        watched: Duration,
        leads: bool,
    ) -> Result<(), String> {
        let nobody_for = standing.nobody_for(self.longest_term);
        if !leads && nobody_for.min(watched) >= patience {
            return self.tell(alerts, &Alert::NoPoller { nobody_for }).await;
        }
        if leads && standing.is_told() {
            return self.tell(alerts, &Alert::PollerAgain).await;
        }
        Ok(())
    }

    /// The dead letters that died within the time of the rate, but for those that somebody cancelled.
    async fn dead_within(&self, rate: DeadRate) -> Result<Vec<DeadGroup>, String> {
        let filter = DeadLetterFilter { since: Some(Moment::Ago(rate.within)), ..DeadLetterFilter::default() };
        let selection = Selection::Filter(filter);
        let mut groups = in_time(COUNT_LIMIT, self.database.dead_groups(&selection)).await?;
        groups.retain(|group| group.dead_reason.as_deref() != Some(DeadReason::Cancelled.as_str()));
        Ok(groups)
    }

    /// Tells it, where no other replica does or did.
    async fn tell(&self, alerts: &Alerts, alert: &Alert) -> Result<(), String> {
        let (kind, window) = (alert.kind(), alerts.config.window);
        let Some(claim) = in_time(LIMIT, self.database.claim_alert(kind, window, CLAIM)).await? else {
            return Ok(());
        };
        fault_point::reach(Point::AlertClaimed).await;
        let sender = Sender {
            environment: self.environment.clone(),
            outbox_id: Some(self.outbox_id.clone()),
            replica: Some(self.replica.clone()),
        };
        let posted = alerts.webhook.post(&alert.body(&sender, &alerts.config)).await;
        self.metrics.alert(kind, posted.is_ok());
        match posted {
            Ok(()) => {
                tracing::info!(alert = kind.as_str(), "alerts.told: {}", alert.title());
                in_time(LIMIT, self.database.alert_told(&claim)).await
            }
            Err(why) => self.not_told(alerts, alert, &claim, &why).await,
        }
    }

    async fn not_told(&self, alerts: &Alerts, alert: &Alert, claim: &AlertClaim, why: &str) -> Result<(), String> {
        let pause = PAUSE.min(alerts.config.window);
        let pause_words = humantime::format_duration(pause);
        tracing::error!(
            alert = alert.kind().as_str(),
            why,
            "alerts.not_told: {}. The webhook of alerts.url took no post; it is tried again after {pause_words}",
            alert.title()
        );
        in_time(LIMIT, self.database.release_alert(claim, pause)).await
    }
}
