//! A batch between its claim and its attempts.

#![allow(clippy::unwrap_used)]

use async_trait::async_trait;
use outbox_adapters::{Adapter, Answer, Delivery, Lease as _, TableLease};
use outbox_store::{ConnectOptions, Database, Epoch, Holder, Lineages, Shard};
use tokio::sync::mpsc;

use super::*;
use crate::fixtures::{channel, metrics};
use crate::poller::assemble::{Parts, Settings};
use crate::poller::channels::Channel;
use crate::term::clock::{BootClock, Clock};

const MINUTE: Duration = Duration::from_mins(1);

/// Reports each message that it is to deliver. The reports end when no task holds it any more.
#[derive(Debug)]
struct Telling(mpsc::UnboundedSender<String>);

#[async_trait]
impl Adapter for Telling {
    async fn deliver(&self, delivery: Delivery) -> Answer {
        self.0.send(delivery.idempotency_key).unwrap();
        Answer::delivered(204, None)
    }

    fn examine(&self, _: Delivery) -> Result<String, String> {
        unreachable!("nobody asks")
    }

    async fn check(&self) -> Result<String, String> {
        unreachable!("nobody asks")
    }
}

fn dispatcher(database: &Database, lease: TableLease, channel: Channel) -> Dispatcher {
    Dispatcher::assemble(Parts {
        instance: "a".to_owned(),
        store: database.store(),
        destinations: Arc::new(database.clone()),
        lineages: Arc::default(),
        lease: Arc::new(lease),
        channels: vec![channel],
        clock: Arc::new(BootClock),
        metrics: metrics(),
        retention: None,
        wake_ups: None,
        wire: runtime::Handle::current(),
        settings: Settings {
            lease_ttl: MINUTE,
            term: MINUTE,
            poll_interval: MINUTE,
            max_in_flight: 1,
            max_bytes: 1 << 20,
            run: LoopSettings { drain_timeout: MINUTE, expects_wake_ups: false, until_empty: false },
        },
    })
}

/// An empty outbox in that folder.
async fn outbox(home: &tempfile::TempDir) -> Database {
    let url = format!("sqlite://{}", home.path().join("outbox.db").display());
    let database =
        Box::pin(Database::connect(&ConnectOptions { url: &url, schema: None, connections: 2 })).await.unwrap();
    Box::pin(database.migrate("default")).await.unwrap();
    database
}

#[tokio::test]
async fn a_replica_that_can_mark_nothing_any_more_leaves_the_lease_to_others_and_is_not_alive() {
    let home = tempfile::tempdir().unwrap();
    let database = outbox(&home).await;
    let Database::Sqlite(pool) = &database else { panic!("{database:?}") };
    let lease = TableLease::Sqlite(pool.clone());
    let (telling, _told) = mpsc::unbounded_channel();
    let mut dispatcher = dispatcher(&database, lease.clone(), channel(Arc::new(Telling(telling))));
    let handle = dispatcher.handle();
    handle.marker_health().died("its marker has panicked".to_owned());
    let shutdown = CancellationToken::new();
    let stopped = shutdown.clone();
    let running = tokio::spawn(async move { dispatcher.run(stopped).await });
    while handle.liveness().stuck().is_none() {
        tokio::task::yield_now().await;
    }
    assert_eq!(handle.liveness().stuck().as_deref(), Some("its marker has panicked"));
    assert!(lease.acquire(&Shard(0).into(), &Holder::new("b", "1"), MINUTE).await.unwrap());
    shutdown.cancel();
    assert_eq!(running.await.unwrap(), Drained { left_in_doubt: 0 });
}

#[tokio::test]
async fn what_was_claimed_is_sent_by_a_channel_that_was_removed_before_its_attempt() {
    let home = tempfile::tempdir().unwrap();
    let database = outbox(&home).await;
    let Database::Sqlite(pool) = &database else { panic!("{database:?}") };
    let insert = "INSERT INTO outbox (idempotency_key, channel, target, payload) \
                  VALUES ('order', 'hook', 'https://shop.example/', '{}')";
    sqlx::query(insert).execute(pool).await.unwrap();
    let (telling, mut told) = mpsc::unbounded_channel();
    let mut dispatcher = dispatcher(&database, TableLease::Sqlite(pool.clone()), channel(Arc::new(Telling(telling))));
    let holder = Holder::new("a", "1");
    let opened = database.store().begin_term(Shard(0), &holder, Epoch(0)).await.unwrap();
    let term = Term::begin(
        Shard(0),
        holder,
        opened,
        Arc::new(BootClock),
        BootClock.now().after(MINUTE),
        Lineages::default().watch(),
    );

    let Polled::Batch(batch) = dispatcher.intake.poll(&term).await else { panic!("it is due") };
    dispatcher.handle().reconfigure([]);
    dispatcher.send(&term, batch);
    assert_eq!(told.recv().await.as_deref(), Some("order"));
    dispatcher.in_flight.drained().await;
    let status: String = sqlx::query_scalar("SELECT status FROM outbox").fetch_one(pool).await.unwrap();
    assert_eq!(status, "SUCCESS");
}
