//! When the dead letters of a cause died, as the page draws it.

use outbox_desk::{DeadGroup, DeadLetterFilter, Deaths, Desk, Selection};
use outbox_store::Dialect;

use super::{READS, Stage, TOKENS, words};
use crate::outboxes::{self, Outbox};

/// Inserts so many letters of one reason, each a second after the one before.
async fn letters(outbox: &Outbox, number: u32, reason: &str) {
    let at = match outbox.dialect() {
        Dialect::Postgres => "now() - i * interval '1 second'",
        Dialect::MySql => "UTC_TIMESTAMP(6) - INTERVAL i SECOND",
        Dialect::Sqlite => "(unixepoch() - i) * 1000",
    };
    let columns = "channel, target, payload, revision, status, dead_reason, finished_at";
    let rows: Vec<_> = (0..number).map(|i| format!("SELECT {i} AS i")).collect();
    for some in rows.chunks(400) {
        outbox
            .sql(&format!(
                "INSERT INTO outbox ({columns}) SELECT 'http', 'https://shop.example/', '{{}}', 2, 'DEAD', '{reason}', {at} FROM ({}) n",
                some.join(" UNION ALL ")
            ))
            .await;
    }
}

async fn deaths(outbox: &Outbox, filter: &DeadLetterFilter) -> Vec<(DeadGroup, Option<Deaths>)> {
    let groups = outbox.database.dead_groups(&Selection::Filter(filter.clone())).await.unwrap();
    let mut deaths = outbox_desk::deaths(&outbox.database, filter, &groups).await.unwrap();
    let mut deaths_of = |group: &DeadGroup| deaths.remove(&group.fingerprint);
    groups.into_iter().map(|group| (group.clone(), deaths_of(&group))).collect()
}

#[tokio::test]
async fn a_cause_has_a_chart_of_the_letters_that_died_last() {
    for outbox in outboxes::each().await {
        letters(&outbox, 2_100, "permanent").await;
        letters(&outbox, 49, "exhausted").await;
        let found = deaths(&outbox, &DeadLetterFilter::default()).await;
        let [(_, Some(many)), (_, Some(few))] = &found[..] else { panic!("{found:?}") };
        assert_eq!((many.counts.iter().sum::<u64>(), many.more), (2_000, true));
        // One a second, so none of the stretches has many more than another.
        assert!(many.counts.iter().all(|count| (80..=87).contains(count)), "{many:?}");
        assert!((1_990_000..2_020_000).contains(&many.lasted_ms), "{many:?}");
        assert_eq!((few.counts.iter().sum::<u64>(), few.more), (49, false));

        // The conditions of the filter are those of the chart. What no index tells has none.
        let elsewhere = Some("https://shop.example:443".to_owned());
        let of_destination = DeadLetterFilter { destination: elsewhere, ..DeadLetterFilter::default() };
        assert!(deaths(&outbox, &of_destination).await.iter().all(|(_, deaths)| deaths.is_some()));
        let lately = DeadLetterFilter { since: Some("10s".parse().unwrap()), ..DeadLetterFilter::default() };
        for (group, deaths) in deaths(&outbox, &lately).await {
            let counted: u64 = deaths.unwrap().counts.iter().sum();
            assert!(counted.abs_diff(group.count) <= 2 && counted <= 12, "{counted} of {}", group.count);
        }
        outbox.sql("UPDATE outbox SET last_error = 'one of them' WHERE id < 10").await;
        let rare = DeadLetterFilter { error_contains: Some("one".to_owned()), ..DeadLetterFilter::default() };
        assert!(deaths(&outbox, &rare).await.iter().all(|(_, deaths)| deaths.is_none()));

        let stage = Stage::begin(&outbox, TOKENS).await;
        let reader = stage.person(READS).await;
        let page = reader.page("/dead-letters").await;
        assert_eq!(page.matches("<svg class=\"small-chart\"").count(), 2, "{page}");
        assert!(page.contains("aria-label=\"49 died within 48.0s, at most "), "{page}");
        assert!(page.contains("aria-label=\"the newest 2,000 died within 33m "), "{page}");
        assert!(page.contains("<title>49 died within 48.0s, at most 49 in each 1m "), "{page}");
        assert!(words(&page).contains("When: 33m "), "{page}");
        assert!(words(&page).contains("Charts are of the 2,000 letters of a cause that died last."), "{page}");
        let without = reader.page("/dead-letters?error_contains=one").await;
        assert!(!without.contains("small-chart") && without.contains("By cause"), "{without}");
    }
}

#[tokio::test]
async fn a_cause_shows_the_whole_error_of_its_example_with_its_status_code_and_destination() {
    for outbox in outboxes::each().await {
        letters(&outbox, 2, "permanent").await;
        outbox.sql("UPDATE outbox SET last_error = 'order 4711 is unknown', last_status_code = 422").await;
        let stage = Stage::begin(&outbox, TOKENS).await;
        let page = stage.person(READS).await.page("/dead-letters").await;
        let shown = words(&page);
        for said in ["order 4711 is unknown", "422", "https://shop.example:443"] {
            assert!(shown.contains(said), "{said}: {shown}");
        }
        assert!(page.contains(">order 4711 is unknown</a>"), "the error leads to its letters: {page}");
    }
}
