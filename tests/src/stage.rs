//! All that an end-to-end test needs: an outbox, the application that fills it, and the receiver of its messages.

use std::time::Duration;

use crate::application::Application;
use crate::eventually::{PATIENCE, eventually};
use crate::fleet::{Fleet, Settings};
use crate::invariants::{self, Accounts, Report};
use crate::receiver::Receiver;
use crate::servers::TestDatabase;
use crate::tables::Tables;

/// One outbox and those around it.
#[derive(Debug)]
pub struct Stage {
    /// As whom the dispatcher connects: the owner.
    pub database: TestDatabase,
    /// What is in the outbox.
    pub tables: Tables,
    /// Who fills it.
    pub application: Application,
    /// Where its messages go.
    pub receiver: Receiver,
}

impl Stage {
    /// Makes an outbox in an empty database; its receiver takes `latency` for each answer.
    pub async fn set(database: TestDatabase, latency: Duration) -> Self {
        // Shown where the test fails.
        eprintln!("{}", database.url);
        let tables = Tables::migrated(&database.url).await;
        let application = Application::of(&database).await;
        Self::around(database, tables, application, latency).await
    }

    /// Those around an outbox that is there.
    pub async fn around(database: TestDatabase, tables: Tables, application: Application, latency: Duration) -> Self {
        tables.keep_claims().await;
        Self { database, tables, application, receiver: Receiver::start(latency) }
    }

    /// Settings with short times: a lease of 2 s (in that Redis, else in the table), terms of 2 s.
    pub fn settings(&self, redis: Option<String>) -> Settings {
        Settings {
            database: self.database.url.clone(),
            redis,
            receiver: self.receiver.url(),
            ttl: Duration::from_secs(2),
            term: Duration::from_secs(2),
            max_in_flight: 32,
            timeout: Duration::from_secs(15),
            max_attempts: 10,
            at_most_once: false,
            tells: false,
            more: String::new(),
        }
    }

    /// Waits until every committed message has an outcome.
    pub async fn settled(&self) {
        let none_pending = async || (!self.tables.has_pending().await).then_some(());
        eventually("every message has an outcome", PATIENCE, none_pending).await;
    }

    /// Compares what the application, the receiver and the tables say.
    ///
    /// # Panics
    /// Where a guarantee was broken.
    pub async fn check(&self, fleet: &Fleet) -> Report {
        let accounts = self.accounts(Some(fleet)).await;
        invariants::check(&accounts)
    }

    /// What everybody has written down; without a fleet nobody says who sent what.
    pub async fn accounts(&self, fleet: Option<&Fleet>) -> Accounts {
        let messages = self.tables.messages().await;
        // A mark commits these.
        let outcomes =
            messages.iter().map(|message| &message.idempotency_key).filter(|key| key.starts_with("outcome:"));
        Accounts {
            committed: self.application.committed.iter().chain(outcomes).cloned().collect(),
            rolled_back: self.application.rolled_back.clone(),
            // After the tables: what they say was sent has then arrived.
            messages,
            attempts: self.tables.attempts().await,
            claims: self.tables.claims().await,
            terms: self.tables.terms().await,
            newest: Some(self.tables.newest_term().await),
            requests: self.receiver.requests(),
            led: fleet.map(Fleet::led).unwrap_or_default(),
            led_by_this_clock: fleet.is_some(),
            limits: fleet.map(|fleet| fleet.settings().limits()).unwrap_or_default(),
        }
    }
}
