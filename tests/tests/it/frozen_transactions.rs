//! A replica that stands still within a transaction.

use outbox_schema::{Database, Holder, Shard};

use crate::outboxes::{self, Outbox};

/// Begins a term while somebody holds the term row and says no more.
async fn a_term_begins(outbox: &Outbox) {
    let begun = outbox.database.store().begin_term(Shard(0), &Holder::new("b", "2")).await;
    // Without an end to the other's transaction it would wait for as long as a statement may, and be refused.
    assert!(begun.is_ok(), "{:?}: {begun:?}", outbox.dialect());
}

#[tokio::test]
async fn one_that_is_frozen_while_it_holds_the_term_row_keeps_no_other_from_its_term() {
    let [postgres, mariadb, _] = outboxes::migrated().await;
    let Database::Postgres(pool) = &postgres.database else { panic!("the first is PostgreSQL") };
    let mut frozen = pool.begin().await.unwrap();
    let held = include_str!("../../../outbox-schema/queries/postgres/term_lock_shared.sql");
    sqlx::query(held).bind(0_i64).execute(&mut *frozen).await.unwrap();
    a_term_begins(&postgres).await;

    let Database::MySql(pool) = &mariadb.database else { panic!("the second is MariaDB") };
    let mut frozen = pool.begin().await.unwrap();
    let held = include_str!("../../../outbox-schema/queries/mysql/term_lock_shared.sql");
    sqlx::query(held).bind(0_i64).execute(&mut *frozen).await.unwrap();
    a_term_begins(&mariadb).await;
}
