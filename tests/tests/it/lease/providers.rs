//! What every lease provider keeps to: each behaviour, a test on every one.

use outbox_tests::conformance::lease::{Leases, Provider, campaigns, holding, neighbours, releases};
use outbox_tests::servers::{MariaDb, Postgres, Redis};

/// Makes a module of each behaviour, and in it a test for each provider: a failure names its provider.
macro_rules! on_every_provider {
    ($($module:ident: [$($behaviour:ident),+ $(,)?]),+ $(,)?) => { $($(
        mod $behaviour {
            use super::{Leases, Provider, $module};

            #[tokio::test]
            async fn on_redis() {
                $module::$behaviour(&Leases::fresh(Provider::Redis).await).await;
            }

            #[tokio::test]
            async fn on_redis_over_tls() {
                $module::$behaviour(&Leases::fresh(Provider::RedisTls).await).await;
            }

            #[tokio::test]
            async fn on_sentinel() {
                $module::$behaviour(&Leases::fresh(Provider::Sentinel).await).await;
            }

            #[tokio::test]
            async fn on_sentinel_over_tls() {
                $module::$behaviour(&Leases::fresh(Provider::SentinelTls).await).await;
            }

            #[tokio::test]
            async fn on_cluster() {
                $module::$behaviour(&Leases::fresh(Provider::Cluster).await).await;
            }

            #[tokio::test]
            async fn on_cluster_over_tls() {
                $module::$behaviour(&Leases::fresh(Provider::ClusterTls).await).await;
            }

            #[tokio::test]
            async fn on_postgres() {
                $module::$behaviour(&Leases::fresh(Provider::Postgres).await).await;
            }

            #[tokio::test]
            async fn on_mariadb() {
                $module::$behaviour(&Leases::fresh(Provider::MariaDb).await).await;
            }

            #[tokio::test]
            async fn on_sqlite() {
                $module::$behaviour(&Leases::fresh(Provider::Sqlite).await).await;
            }

            #[tokio::test]
            async fn on_postgres_by_session() {
                $module::$behaviour(&Leases::fresh(Provider::PostgresSession).await).await;
            }

            #[tokio::test]
            async fn on_mariadb_by_session() {
                $module::$behaviour(&Leases::fresh(Provider::MariaDbSession).await).await;
            }
        }
    )+)+ };
}

on_every_provider! {
    campaigns: [
        one_of_many_candidates_wins,
        an_expired_lease_is_anybodys,
        the_holder_may_ask_again,
    ],
    holding: [
        only_the_holder_renews_and_releases,
        a_holder_is_told_from_another_of_the_same_process,
        a_free_lease_cannot_be_renewed_or_released,
        seats_are_held_apart,
    ],
    releases: [
        a_release_wakes_every_candidate,
        a_release_before_the_wait_is_not_missed,
    ],
    neighbours: [
        two_outboxes_leave_each_other_alone,
    ],
}

#[tokio::test]
async fn an_answer_that_redis_could_not_give_is_made_good() {
    let server = Redis::start().await;
    let leases = Leases::in_redis(server.url());
    campaigns::a_lost_answer_is_made_good(&leases, || server.freeze(), || server.thaw()).await;
}

#[tokio::test]
async fn an_answer_that_postgres_could_not_give_is_made_good() {
    let server = Postgres::start().await;
    let leases = Leases::in_table(Provider::Postgres, server.database().await).await;
    campaigns::a_lost_answer_is_made_good(&leases, || server.freeze(), || server.thaw()).await;
}

#[tokio::test]
async fn an_answer_that_mariadb_could_not_give_is_made_good() {
    let server = MariaDb::start().await;
    let leases = Leases::in_table(Provider::MariaDb, server.database().await).await;
    campaigns::a_lost_answer_is_made_good(&leases, || server.freeze(), || server.thaw()).await;
}

#[tokio::test]
async fn an_answer_that_a_session_of_postgres_could_not_give_is_made_good() {
    let server = Postgres::start().await;
    let leases = Leases::in_session(Provider::PostgresSession, server.database().await).await;
    campaigns::a_lost_answer_is_made_good(&leases, || server.freeze(), || server.thaw()).await;
}

#[tokio::test]
async fn an_answer_that_a_session_of_mariadb_could_not_give_is_made_good() {
    let server = MariaDb::start().await;
    let leases = Leases::in_session(Provider::MariaDbSession, server.database().await).await;
    campaigns::a_lost_answer_is_made_good(&leases, || server.freeze(), || server.thaw()).await;
}
