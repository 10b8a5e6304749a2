//! A right that is taken away while messages are on the wire: what was delivered cannot be recorded. Nothing more is claimed then, the
//! replica says why, and whoever asks is told that the receiver accepted the message.

use std::time::Duration;

use outbox_schema::NewMessage;
use outbox_store::Dialect;
use outbox_tests::eventually;
use outbox_tests::receiver::Receiver;
use rustix::process::Signal;

use crate::database::grants::{Granted, SCHEMA, granted};
use crate::listener::readiness::{cause, ready};
use crate::outboxes;
use crate::program::{HTTP, PATIENCE, Program, Replica};
use crate::sink::Sink;

/// Messages that are written before the right goes, some of which are on the wire then, and after that.
const BEFORE: usize = 4;
const LATER: usize = 20;

const MAX_IN_FLIGHT: usize = 16;

struct Story {
    granted: Granted,
    receiver: Receiver,
    program: Program,
}

impl Story {
    fn of(granted: Granted) -> Self {
        // Long enough for the right to go while messages are on the wire.
        let receiver = Receiver::start(Duration::from_secs(2));
        let schema = match granted.owner.dialect() {
            Dialect::Postgres => format!("[database]\nschema = \"{SCHEMA}\"\n"),
            Dialect::MySql | Dialect::Sqlite => String::new(),
        };
        let settings = format!(
            "{schema}[lease]\nttl = \"1s\"\nterm = \"3s\"\n[dispatch]\nmax_in_flight = {MAX_IN_FLIGHT}\n{HTTP}timeout = \"5s\"\n"
        );
        let program = Program::new(&granted.dispatcher, &settings);
        Self { granted, receiver, program }
    }

    async fn write(&self, keys: impl Iterator<Item = usize>) {
        let url = self.receiver.url();
        let rows: Vec<_> = keys.map(|key| format!("('http', '{url}', '{{}}', 'k{key}')")).collect();
        let rows = rows.join(", ");
        let insert = format!("INSERT INTO outbox (channel, target, payload, idempotency_key) VALUES {rows}");
        self.granted.owner.sql(&insert).await;
    }

    fn may_update(&self, may: bool) {
        let table = if self.granted.owner.dialect() == Dialect::Postgres { "dispatcher.outbox" } else { "outbox" };
        let role = &self.granted.dispatcher_role;
        let statement = if may {
            format!("GRANT UPDATE ON {table} TO {role};")
        } else {
            format!("REVOKE UPDATE ON {table} FROM {role};")
        };
        self.granted.owner.run_client(&statement);
    }

    /// Up to the moment at which the replica has said that it cannot mark, and has recorded that with the rights that are left.
    async fn until_it_is_stuck(&self) -> (Replica, String) {
        let mut replica = self.program.start();
        let address = replica.listener().await;
        ready(&address).await;
        self.write(0..BEFORE).await;
        let on_the_wire = async || (self.receiver.open() > 0).then_some(());
        eventually("a message is on the wire", PATIENCE, on_the_wire).await;
        self.may_update(false);
        self.write(BEFORE..BEFORE + LATER).await;
        let said = cause(&address, &["marks: what came of messages could not be recorded", "none is claimed"]).await;
        assert!(said.contains("denied") && !said.contains("at line"), "{said}");
        self.is_recorded().await;
        (replica, address)
    }

    async fn is_recorded(&self) {
        let unmarked = "SELECT count(DISTINCT message_id) FROM outbox_attempt WHERE outcome = 'delivered_unmarked'";
        let recorded = async || {
            let accepted = self.receiver.requests().iter().filter(|request| request.is_accepted()).count();
            let recorded = usize::try_from(self.granted.owner.number(unmarked).await).unwrap();
            (recorded > 0 && recorded == accepted && self.receiver.open() == 0).then_some(())
        };
        eventually("what was delivered is on record", PATIENCE, recorded).await;
        assert!(self.receiver.count() <= MAX_IN_FLIGHT, "{} requests", self.receiver.count());
    }

    async fn all_arrive(&self) {
        let done = "SELECT count(*) FROM outbox WHERE status = 'SUCCESS'";
        let all = i64::try_from(BEFORE + LATER).unwrap();
        let arrived = async || (self.granted.owner.number(done).await == all).then_some(());
        eventually("each message goes on", PATIENCE, arrived).await;
    }

    async fn explained(&self, key: &str) -> String {
        self.program.run(&["messages", "explain", key]).await.done()
    }
}

#[tokio::test]
async fn what_cannot_be_marked_stops_claims_and_is_marked_once_the_right_is_back() {
    for granted in granted().await {
        let story = Story::of(granted);
        let (_replica, address) = story.until_it_is_stuck().await;
        let said = story.explained("k0").await;
        assert!(said.contains("the receiver accepted it") && said.contains("could not record"), "{said}");
        let before = story.receiver.count();
        story.may_update(true);
        story.all_arrive().await;
        ready(&address).await;
        assert!(before < BEFORE + LATER, "{before} were claimed without the right");
        // The process still knew what it had delivered.
        assert_eq!(story.receiver.count(), BEFORE + LATER);
        let said = story.explained("k0").await;
        assert!(said.contains("Nothing says that it was sent more than once"), "{said}");
    }
}

#[tokio::test]
async fn what_a_replica_could_not_mark_before_it_was_killed_is_sent_again_and_explained() {
    for granted in granted().await {
        let story = Story::of(granted);
        let (replica, _) = story.until_it_is_stuck().await;
        let sent = story.receiver.count();
        replica.stop(Signal::KILL).await;
        story.may_update(true);
        let _next = story.program.start();
        story.all_arrive().await;
        let doubles = story.receiver.count() - (BEFORE + LATER);
        assert!(doubles <= sent && sent <= MAX_IN_FLIGHT, "{doubles} of {sent}");
        let said = story.explained("k0").await;
        assert!(said.contains("It was delivered more than once"), "{said}");
        assert!(said.contains("the receiver accepted it, and that could not be recorded"), "{said}");
    }
}

/// A trigger of the application's own: one message may never be `SUCCESS`.
fn refusing(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => {
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                 $$BEGIN RAISE EXCEPTION 'the bookkeeping says no'; END$$;
             CREATE TRIGGER refuse BEFORE UPDATE ON outbox FOR EACH ROW
                 WHEN (NEW.idempotency_key = 'refused' AND NEW.status = 'SUCCESS') EXECUTE FUNCTION refuse()"
        }
        Dialect::MySql => {
            "CREATE TRIGGER refuse BEFORE UPDATE ON outbox FOR EACH ROW
             IF NEW.idempotency_key = 'refused' AND NEW.status = 'SUCCESS' THEN
                 SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the bookkeeping says no';
             END IF"
        }
        Dialect::Sqlite => {
            "CREATE TRIGGER refuse BEFORE UPDATE ON outbox
             WHEN NEW.idempotency_key = 'refused' AND NEW.status = 'SUCCESS'
             BEGIN SELECT RAISE(ABORT, 'the bookkeeping says no'); END"
        }
    }
}

#[tokio::test]
async fn a_delivery_that_the_database_itself_refuses_to_mark_is_on_record_at_once_and_keeps_nobody_waiting() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let message = |key: &str| NewMessage::http(sink.url("/")).idempotency_key(key).json(&1);
        outbox.sql(refusing(outbox.dialect())).await;
        outbox.enqueue(&[message("refused"), message("a"), message("b")]).await;
        let program = Program::new(&outbox.test.url, HTTP);
        let mut replica = program.start();
        replica.says("mark.refused").await;
        let recorded = "SELECT count(*) FROM outbox_attempt WHERE outcome = 'delivered_unmarked'";
        let on_record = async || (outbox.number(recorded).await == 1).then_some(());
        eventually("the delivery is on record", PATIENCE, on_record).await;
        let marked =
            async || (outbox.number("SELECT count(*) FROM outbox WHERE status = 'SUCCESS'").await == 2).then_some(());
        eventually("the others are marked", PATIENCE, marked).await;
        let said = program.run(&["messages", "explain", "refused"]).await.done();
        assert!(said.contains("the receiver accepted it") && said.contains("the bookkeeping says no"), "{said}");
        assert_eq!(sink.requests().len(), 3);
    }
}
