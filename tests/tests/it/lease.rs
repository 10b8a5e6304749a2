//! What every lease provider keeps to: each behaviour, on every one.

use outbox_tests::conformance::lease::{Leases, Provider, campaigns, holding, neighbours, on_every_provider, releases};
use outbox_tests::servers::{MariaDb, Postgres, Redis};

#[tokio::test]
async fn one_of_many_candidates_wins() {
    on_every_provider(campaigns::one_of_many_candidates_wins).await;
}

#[tokio::test]
async fn an_expired_lease_is_anybodys() {
    on_every_provider(campaigns::an_expired_lease_is_anybodys).await;
}

#[tokio::test]
async fn the_holder_may_ask_again() {
    on_every_provider(campaigns::the_holder_may_ask_again).await;
}

#[tokio::test]
async fn only_the_holder_renews_and_releases() {
    on_every_provider(holding::only_the_holder_renews_and_releases).await;
}

#[tokio::test]
async fn a_holder_is_told_from_another_of_the_same_process() {
    on_every_provider(holding::a_holder_is_told_from_another_of_the_same_process).await;
}

#[tokio::test]
async fn a_free_lease_cannot_be_renewed_or_released() {
    on_every_provider(holding::a_free_lease_cannot_be_renewed_or_released).await;
}

#[tokio::test]
async fn shards_are_led_apart() {
    on_every_provider(holding::shards_are_led_apart).await;
}

#[tokio::test]
async fn a_release_wakes_every_candidate() {
    on_every_provider(releases::a_release_wakes_every_candidate).await;
}

#[tokio::test]
async fn a_release_before_the_wait_is_not_missed() {
    on_every_provider(releases::a_release_before_the_wait_is_not_missed).await;
}

#[tokio::test]
async fn two_outboxes_leave_each_other_alone() {
    on_every_provider(neighbours::two_outboxes_leave_each_other_alone).await;
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
