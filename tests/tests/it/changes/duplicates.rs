//! A key that is there already: by plain SQL and by enqueuing from Rust, in the transaction of an application that has no
//! more than its rights.

use std::time::Duration;

use outbox_schema::{Enqueued, NewMessage, OutboxConnection, enqueue};
use outbox_store::Dialect;
use outbox_tests::eventually;
use sqlx::{Connection, MySqlConnection, PgConnection};

use crate::changes::cancel_by_key::{Application, documented};
use crate::database::grants;
use crate::outboxes::{self, Outbox, Step, transaction};
use crate::program::PATIENCE;

/// The key in the documented SQL.
const KEY: &str = "order-4711-placed";

/// An outbox, and the address under which the application reaches it.
struct Shop {
    outbox: Outbox,
    application: String,
}

async fn shops() -> [Shop; 3] {
    let [postgres, mysql] =
        grants::granted().await.map(|granted| Shop { outbox: granted.owner, application: granted.application });
    let [_, _, sqlite] = outboxes::migrated().await;
    [postgres, mysql, Shop { application: sqlite.test.url.clone(), outbox: sqlite }]
}

impl Shop {
    async fn messages(&self) -> i64 {
        self.outbox.number("SELECT count(*) FROM outbox").await
    }
}

fn message() -> NewMessage {
    NewMessage::http("/hooks/orders").idempotency_key(KEY)
}

/// Inserts in the words of the documentation: whether the row is new.
async fn insert(application: &mut Application, dialect: Dialect) -> bool {
    match (application.run(documented("Duplicates", dialect)).await, dialect) {
        (Ok(rows), _) => rows == 1,
        (Err(error), Dialect::MySql) => {
            let code =
                error.as_database_error().and_then(|error| error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>());
            assert_eq!(code.map(sqlx::mysql::MySqlDatabaseError::number), Some(1062), "{error}");
            false
        }
        (Err(error), Dialect::Postgres | Dialect::Sqlite) => panic!("{error}"),
    }
}

#[tokio::test]
async fn plain_sql_inserts_a_key_once_and_the_transaction_goes_on() {
    for shop in shops().await {
        let dialect = shop.outbox.dialect();
        let mut application = Application::connect(&shop.application).await;
        application.run("BEGIN").await.unwrap();
        let other = documented("Duplicates", dialect).replace(KEY, "another");
        assert_eq!(application.run(&other).await.unwrap(), 1);
        assert!(insert(&mut application, dialect).await);
        assert!(!insert(&mut application, dialect).await);
        let last = documented("Duplicates", dialect).replace(KEY, "the last");
        assert_eq!(application.run(&last).await.unwrap(), 1);
        application.run("COMMIT").await.unwrap();
        assert_eq!(shop.messages().await, 3);
        assert!(!insert(&mut application, dialect).await, "nor in a later transaction");
    }
}

/// The key is remembered as long as the row is kept, whatever became of the message.
#[tokio::test]
async fn the_key_of_a_message_that_has_its_outcome_is_there_already() {
    for shop in shops().await {
        let dialect = shop.outbox.dialect();
        let mut application = Application::connect(&shop.application).await;
        assert!(insert(&mut application, dialect).await);
        for outcome in ["status = 'SUCCESS'", "status = 'DEAD', dead_reason = 'permanent'"] {
            shop.outbox.sql(&format!("UPDATE outbox SET {outcome}, revision = revision + 1")).await;
            assert!(!insert(&mut application, dialect).await, "{outcome}");
            let steps = [Step::Enqueue(&[message()]), Step::Enqueue(&[message().idempotency_key("and after")])];
            let answers = transaction(&shop.application, &steps, "ROLLBACK").await;
            let again = &answers[0].as_ref().unwrap()[0];
            assert!(matches!(again, Enqueued::Duplicate { id: Some(_), .. }), "{again:?}");
            assert!(answers[1].as_ref().unwrap()[0].is_inserted());
            assert_eq!(shop.messages().await, 1);
        }
    }
}

/// Who comes second waits for the first: its key counts if it commits, and is free if it rolls back.
#[tokio::test]
async fn of_two_open_transactions_with_one_key_one_inserts_it() {
    for shop in shops().await {
        let dialect = shop.outbox.dialect();
        for (round, (end, free)) in [("ROLLBACK", true), ("COMMIT", false)].into_iter().enumerate() {
            let mut first = Application::connect(&shop.application).await;
            first.run("BEGIN").await.unwrap();
            assert!(insert(&mut first, dialect).await);
            let mut second = Application::connect(&shop.application).await;
            let second = tokio::spawn(async move {
                second.run("BEGIN").await.unwrap();
                let inserted = insert(&mut second, dialect).await;
                let after = documented("Duplicates", dialect).replace(KEY, &format!("after {round}"));
                assert_eq!(second.run(&after).await.unwrap(), 1, "the transaction goes on");
                second.run("COMMIT").await.unwrap();
                inserted
            });
            wait_for_the_second(&shop.outbox).await;
            first.run(end).await.unwrap();
            assert_eq!(second.await.unwrap(), free, "after {end}");
            if free {
                shop.outbox.sql("DELETE FROM outbox WHERE idempotency_key <> 'after 0'").await;
            }
        }
        assert_eq!(shop.messages().await, 3);
    }
}

/// The same by the interface of Rust.
#[tokio::test]
async fn of_two_open_transactions_that_enqueue_one_key_one_is_told_of_a_duplicate() {
    let [postgres, mysql, _] = shops().await;
    enqueue_in_two::<PgConnection>(&postgres).await;
    enqueue_in_two::<MySqlConnection>(&mysql).await;
}

async fn enqueue_in_two<C>(shop: &Shop)
where
    C: OutboxConnection + Connection + 'static,
    for<'c> &'c mut C: sqlx::Executor<'c>,
{
    for (end, free) in [("ROLLBACK", true), ("COMMIT", false)] {
        let mut first = C::connect(&shop.application).await.unwrap();
        sqlx::Executor::execute(&mut first, "BEGIN").await.unwrap();
        let inserted = enqueue(&mut first, &message()).await.unwrap();
        let mut second = C::connect(&shop.application).await.unwrap();
        let second = tokio::spawn(async move {
            sqlx::Executor::execute(&mut second, "BEGIN").await.unwrap();
            let answer = enqueue(&mut second, &message()).await.unwrap();
            sqlx::Executor::execute(&mut second, "COMMIT").await.unwrap();
            answer
        });
        wait_for_the_second(&shop.outbox).await;
        sqlx::Executor::execute(&mut first, end).await.unwrap();
        let answer = second.await.unwrap();
        assert_eq!(answer.is_inserted(), free, "after {end}");
        assert_eq!(answer.key(), inserted.key());
        assert_eq!(shop.messages().await, 1);
        if free {
            shop.outbox.sql("DELETE FROM outbox").await;
        }
    }
}

/// Until the second transaction waits for the first. SQLite does not say who waits for its lock.
async fn wait_for_the_second(outbox: &Outbox) {
    let waiting = match outbox.dialect() {
        Dialect::Postgres => {
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        }
        Dialect::MySql => {
            "SELECT count(*) FROM information_schema.innodb_trx t JOIN information_schema.processlist p \
             ON p.id = t.trx_mysql_thread_id WHERE t.trx_state = 'LOCK WAIT' AND p.db = DATABASE()"
        }
        Dialect::Sqlite => return,
    };
    let probe = async || {
        // InnoDB shows the same picture for as long as it is asked more often than ten times a second.
        tokio::time::sleep(Duration::from_millis(150)).await;
        (outbox.number(waiting).await > 0).then_some(())
    };
    eventually("the second waits for the first", PATIENCE, probe).await;
}
