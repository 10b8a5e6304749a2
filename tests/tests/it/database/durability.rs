//! Which commits wait for a standby.

use std::sync::Arc;
use std::time::Duration;

use outbox_schema::MessageId;
use outbox_store::{
    ClaimId, ConnectOptions, Database, Durability, Epoch, Holder, Lineages, Revision, RowsToClaim, Shard, TermId,
};
use outbox_tests::conformance::store::{http, terms};
use outbox_tests::eventually;
use outbox_tests::fleet::PATIENCE;
use outbox_tests::proxy::Proxy;
use outbox_tests::servers::{self, MariaDb, Postgres};
use sqlx::{AssertSqlSafe, Executor, PgPool};

use crate::program::Program;

async fn to_poll(url: &str, durability: Durability) -> (Database, PgPool) {
    let options = ConnectOptions { url, schema: None, connections: 2 };
    let database = Box::pin(Database::connect_to_poll(&options, &Arc::default(), durability)).await.unwrap();
    let Database::Postgres(pool) = database.clone() else { panic!("it is PostgreSQL") };
    (database, pool)
}

async fn waits(pool: &PgPool) -> String {
    sqlx::query_scalar("SELECT current_setting('synchronous_commit')").fetch_one(pool).await.unwrap()
}

/// What the connection for terms and claims has, which is no connection of the pool: a trigger writes it down.
async fn terms_wait(database: &Database, pool: &PgPool, holder: &str) -> String {
    let holder = Holder::new(holder, "1");
    database.store().begin_term(Shard::default(), &holder, Epoch(0)).await.unwrap();
    sqlx::query_scalar("SELECT waits FROM noted ORDER BY id DESC LIMIT 1").fetch_one(pool).await.unwrap()
}

const NOTE: &str = "CREATE TABLE noted (id serial, waits text);
    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO noted (waits) VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$;
    CREATE TRIGGER note AFTER UPDATE ON outbox_term FOR EACH ROW EXECUTE FUNCTION note()";

#[tokio::test]
async fn terms_and_claims_wait_as_the_durability_says_and_never_less_than_the_server_has_them() {
    let server = servers::postgres().await;
    let found = server.database().await;
    let (database, pool) = to_poll(&found.url, Durability::Local).await;
    database.migrate("default").await.unwrap();
    pool.execute(sqlx::raw_sql(NOTE)).await.unwrap();
    let set = async |value: &str| {
        let statement = format!("ALTER DATABASE {} SET synchronous_commit = {value}", found.name);
        pool.execute(sqlx::raw_sql(AssertSqlSafe(statement))).await.unwrap();
    };
    for (number, (server, durability, of_marks, of_terms)) in [
        ("remote_write", Durability::Local, "remote_write", "remote_write"),
        ("remote_write", Durability::Replicated, "local", "on"),
        ("remote_apply", Durability::Replicated, "local", "remote_apply"),
        ("off", Durability::All, "on", "on"),
        ("remote_apply", Durability::All, "remote_apply", "remote_apply"),
    ]
    .into_iter()
    .enumerate()
    {
        set(server).await;
        let (database, pool) = to_poll(&found.url, durability).await;
        assert_eq!(waits(&pool).await, of_marks, "marks with {durability:?} where the server has {server}");
        let holder = format!("r{number}");
        assert_eq!(
            terms_wait(&database, &pool, &holder).await,
            of_terms,
            "terms with {durability:?}, server: {server}"
        );
    }
}

#[tokio::test]
async fn a_replica_does_not_start_where_claims_would_wait_for_nothing_and_names_the_setting() {
    let postgres = servers::postgres().await.database().await.url;
    let mariadb = servers::mariadb().await.database().await.url;
    for (url, setting) in
        [(postgres, "synchronous_standby_names is empty"), (mariadb, "semi-synchronous replication is off")]
    {
        let program = Program::new(&url, "[database]\ndurability = \"replicated\"\n[channels.hook]\nkind = \"http\"");
        let said = program.run(&["run"]).await.failed();
        assert!(said.contains(setting), "{said}");
        assert!(said.contains("database.durability is \"replicated\""), "{said}");
    }
}

#[tokio::test]
async fn a_claim_is_refused_once_the_server_has_no_standby_to_wait_for() {
    let primary = Postgres::start().await;
    let found = primary.database().await;
    let standby = Postgres::standby_of(primary.port()).await;
    primary.commit_with_a_standby().await;
    let (database, pool) = to_poll(&found.url, Durability::Replicated).await;
    database.migrate("default").await.unwrap();
    let mut replication = database.replication().await.unwrap();
    assert_eq!(replication.refusal(Durability::Replicated), None);
    assert!(replication.in_words(Durability::Replicated).contains("synchronous_standby_names is \"*\""));
    let require = "SELECT outbox_require_term(0::smallint, 1, 'r1.1')";
    database.store().begin_term(Shard::default(), &Holder::new("r1", "1"), Epoch(0)).await.unwrap();
    pool.execute(require).await.unwrap();
    primary.commit_alone().await;
    let refused = pool.execute(require).await.unwrap_err().to_string();
    assert!(refused.contains("claims wait for a standby that is not there"), "{refused}");
    replication = database.replication().await.unwrap();
    assert!(replication.refusal(Durability::Replicated).is_some());
    drop(standby);
}

/// An operator, or a server that has no standby any more, lets a commit go that waits for one. It is on one server then.
#[tokio::test]
async fn a_claim_that_was_let_go_without_its_standby_is_not_given_out() {
    let primary = Postgres::start().await;
    let found = primary.database().await;
    let standby = Postgres::standby_of(primary.port()).await;
    primary.commit_with_a_standby().await;
    let (database, pool) = to_poll(&found.url, Durability::Replicated).await;
    database.migrate("default").await.unwrap();
    let insert = "INSERT INTO outbox (channel, target, payload) VALUES ('http', '/hook', '{}') RETURNING id";
    let id: i64 = sqlx::query_scalar(insert).fetch_one(&pool).await.unwrap();
    let (store, shard, holder) = (database.store(), Shard::default(), Holder::new("r1", "1"));
    let epoch = store.begin_term(shard, &holder, Epoch(0)).await.unwrap().epoch;
    standby.kill().await;
    let claim = tokio::spawn(async move {
        let (term, channels) = (TermId { shard, epoch, holder }, [http()]);
        let request =
            RowsToClaim { claim: ClaimId::mint(), rows: &[(MessageId(id), Revision(0))], terms: &terms(&channels) };
        store.claim_rows(&term, &request).await
    });
    let waits = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'
                                AND query_start < clock_timestamp() - interval '1.2 s')";
    let waits = async || sqlx::query_scalar::<_, bool>(waits).fetch_one(&pool).await.unwrap().then_some(());
    eventually("the claim waits for its standby", PATIENCE, waits).await;
    primary.commit_alone().await;
    let refused = claim.await.unwrap().unwrap_err().to_string();
    assert!(refused.contains("claims wait for a standby that is not there"), "{refused}");
}

#[tokio::test]
async fn a_node_of_galera_is_asked_for_what_all_nodes_committed_and_several_at_once_are_refused() {
    let (Some(one), Some(two)) = (MariaDb::node("one").await, MariaDb::node("two").await) else { return };
    let found = one.database().await;
    let options = ConnectOptions { url: &found.url, schema: None, connections: 2 };
    let lineages = Arc::<Lineages>::default();
    let polls = Box::pin(Database::connect_to_poll(&options, &lineages, Durability::Replicated)).await.unwrap();
    assert!(lineages.current().unwrap().starts_with("node one at "), "{:?}", lineages.current());
    polls.migrate("default").await.unwrap();
    let replication = polls.replication().await.unwrap();
    assert_eq!(replication.refusal(Durability::Local), None);
    let alone = replication.refusal(Durability::All).unwrap();
    assert!(alone.contains("the node of Galera is alone in its cluster"), "{alone}");
    let holder = Holder::new("r1", "1");
    let opened = polls.store().begin_term(Shard::default(), &holder, Epoch(0)).await.unwrap();
    let term = TermId { shard: Shard::default(), epoch: opened.epoch, holder };
    polls.store().settle(&term, &[], &[]).await.unwrap();

    let proxy = Proxy::to(one.port());
    let url = proxy.before(&found.url);
    let options = ConnectOptions { url: &url, schema: None, connections: 1 };
    let balanced = Box::pin(Database::connect(&options)).await.unwrap();
    two.create(&found.name).await;
    let turns = tokio::spawn(async move {
        for turn in 0.. {
            proxy.lead_to(if turn % 2 == 0 { two.port() } else { one.port() });
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    });
    let refusal = async || balanced.replication().await.unwrap().refusal(Durability::Local);
    let refusal = eventually("both nodes are met", PATIENCE, refusal).await;
    assert!(refusal.contains("several nodes of Galera at once, one and two"), "{refusal}");
    turns.abort();
}
