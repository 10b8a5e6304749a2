//! Rows of channels that nobody has configured.

use std::collections::BTreeMap;
use std::time::Duration;

use outbox_store::Database;
use sqlx::AssertSqlSafe;

use super::claiming::held;
use super::claims::idle;
use super::due::{all_due, shown};
use super::{Ask, Outbox, http, ids, once, terms};

/// It is shown, so that it is deferred.
pub async fn a_look_claims_nothing_of_an_unknown_channel(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let terms = terms(&channels);
    let strange = outbox.insert(&[("channel", "'nobody'")]).await;
    let known = outbox.insert(&[]).await;
    let looked = outbox.due().look_and_claim(&term, &idle(&terms)).await.unwrap();
    assert_eq!((shown(&looked.headers), ids(&looked.messages)), (vec![strange.0, known.0], vec![known.0]));
    assert_eq!(held(outbox).await, [known.0]);

    let keyed = outbox.insert(&[("channel", "'nobody'"), ("ordering_key", "'k'")]).await;
    let delay = Duration::from_mins(1);
    let deferred = outbox.due().defer_unknown(&term, &[strange, keyed], &channels, delay).await.unwrap();
    assert_eq!(deferred, BTreeMap::from([("nobody".to_owned(), 2)]));
    assert_eq!(shown(&all_due(outbox).await), [known.0]);
    for id in [strange, keyed] {
        let row = outbox.message(id).await;
        assert!((50_000..=60_000).contains(&row.available_in) && row.revision == 0, "{row:?}");
    }
}

/// They stay `PENDING`, count as late from when they were first due, and stand in nobody's way.
pub async fn rows_of_an_unknown_channel_wait_until_it_is_configured(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let due = outbox.moment(-90_000);
    // Names are compared byte for byte.
    let mut unknown = Vec::new();
    for name in ["'once'", "'Http'", "' http'"] {
        unknown.push(outbox.insert(&[("channel", name), ("available_at", &due)]).await);
    }
    let known = outbox.insert(&[]).await;
    let deferred = outbox.defer_unknown(&term, &channels).await;
    assert_eq!(deferred, BTreeMap::from([" http", "Http", "once"].map(|name| (name.to_owned(), 1))));
    assert_eq!(ids(&outbox.claim_all(&term, &channels).await.1), [known.0]);

    let row = outbox.message(unknown[0]).await;
    assert_eq!((row.status.as_str(), row.revision, row.attempts), ("PENDING", 0, 0));
    assert!((50_000..=60_000).contains(&row.available_in), "{row:?}");
    assert!(row.deferred_from.is_some_and(|from| from < -85_000), "{row:?}");

    let channels = [http(), once()];
    let term = outbox.term(&channels).await;
    let row = outbox.message(unknown[0]).await;
    assert!(row.available_in < -85_000 && row.deferred_from.is_none(), "{row:?}");
    assert!(outbox.message(unknown[1]).await.available_in > 0);
    let ask = Ask { excluded: &[known], ..Ask::of(&channels) };
    assert_eq!(ids(&outbox.claim(&term, &ask).await), [unknown[0].0]);
}

/// Those among the next thousands: a look that meets one would only meet them next. No further: a backlog is not read for them.
pub async fn rows_of_an_unknown_channel_are_moved_with_those_close_behind_and_no_others(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let double = "INSERT INTO outbox (channel, target, payload) SELECT channel, target, payload FROM outbox WHERE channel = 'http'";
    let met = outbox.insert(&[("channel", "'unknown'")]).await;
    outbox.insert(&[]).await;
    for _ in 0..10 {
        outbox.execute(double).await;
    }
    outbox.insert(&[("channel", "'unknown'")]).await;
    for _ in 10..12 {
        outbox.execute(double).await;
    }
    let far = outbox.insert(&[("channel", "'unknown'")]).await;
    let deferred = outbox.due().defer_unknown(&term, &[met], &channels, Duration::from_mins(1)).await.unwrap();
    assert_eq!(deferred, BTreeMap::from([("unknown".to_owned(), 2)]));
    assert!(outbox.message(far).await.deferred_from.is_none());
}

/// MariaDB alone takes such a row, from a session that does without the checks, and takes the two names for one where it compares
/// texts.
pub async fn a_channel_is_not_the_one_whose_name_lacks_its_last_space(outbox: &Outbox) {
    let channels = [http()];
    let term = outbox.term(&channels).await;
    let row = outbox.insert(&[]).await;
    let spaced = format!("UPDATE outbox SET channel = 'http ' WHERE id = {row}");
    let Database::MySql(unchecked) = outbox.database() else { return };
    // MySQL refuses it.
    if sqlx::raw_sql(AssertSqlSafe(spaced)).execute(unchecked).await.is_ok() {
        let deferred = outbox.due().defer_unknown(&term, &[row], &channels, Duration::from_mins(1)).await.unwrap();
        assert_eq!(deferred, BTreeMap::from([("http ".to_owned(), 1)]));
        assert!(outbox.claim_all(&term, &channels).await.1.is_empty());
    }
}
