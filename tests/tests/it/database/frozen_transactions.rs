//! A replica, or a command, that stands still within a transaction.

use outbox_store::{Database, Epoch, Holder, Shard};
use outbox_tests::queries::query;
use sqlx::AssertSqlSafe;

use crate::outboxes::{self, Outbox};

/// Begins a term while somebody holds the term row and says no more.
async fn a_term_begins(outbox: &Outbox, held: &str) {
    let begun = outbox.database.store().begin_term(Shard(0), &Holder::new("b", "2"), Epoch(0)).await;
    // Without an end to the other's transaction it would wait for as long as a statement may, and be refused.
    assert!(begun.is_ok(), "{:?}, {held}: {begun:?}", outbox.dialect());
}

#[tokio::test]
async fn one_that_is_frozen_while_it_holds_the_term_row_keeps_no_other_from_its_term() {
    let [postgres, mariadb, _] = outboxes::migrated().await;
    let Database::Postgres(pool) = &postgres.database else { panic!("the first is PostgreSQL") };
    // As who settles or keeps destinations, and as who changes messages by hand.
    for held in ["FOR SHARE", "FOR UPDATE"] {
        let mut frozen = pool.begin().await.unwrap();
        sqlx::query(AssertSqlSafe(format!("SELECT epoch FROM outbox_term {held}")))
            .execute(&mut *frozen)
            .await
            .unwrap();
        a_term_begins(&postgres, held).await;
    }

    let Database::MySql(pool) = &mariadb.database else { panic!("the second is MariaDB") };
    for held in ["LOCK IN SHARE MODE", "FOR UPDATE"] {
        let mut frozen = pool.acquire().await.unwrap().detach();
        sqlx::raw_sql(AssertSqlSafe(query("mysql/poller/begin"))).execute(&mut frozen).await.unwrap();
        sqlx::query(AssertSqlSafe(format!("SELECT epoch FROM outbox_term {held}"))).execute(&mut frozen).await.unwrap();
        a_term_begins(&mariadb, held).await;
    }
}
