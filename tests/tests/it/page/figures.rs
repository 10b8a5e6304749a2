//! Figures over time on the page and in the API.

use std::time::Duration;

use outbox_store::Shard;
use outbox_tests::eventually;

use super::{Stage, words};
use crate::outboxes;
use crate::program::PATIENCE;
use crate::questions::figures::delivered;

#[tokio::test]
async fn the_overview_has_charts_of_each_channel_and_words_for_those_who_do_not_see_them() {
    for outbox in outboxes::each().await {
        let stage = Stage::begin(&outbox, "").await;
        for (minutes, count) in [(2, 1_000), (20, 234), (60 * 20, 7)] {
            let age = Duration::from_mins(minutes);
            let figures = delivered("http", count, Some(Duration::from_secs(90)));
            outbox.database.add_figures(Shard::default(), age, &figures).await.unwrap();
        }
        let person = super::Person::at(&stage.url);
        let page = person.page("/").await;
        assert_eq!(page.matches("<figure class=\"chart").count(), 3, "{page}");
        assert!(page.contains("The last hour: 1,234 in all, at most 1,000 a minute, from "), "{page}");
        assert!(words(&page).contains("at most 1,000 a minute, at "), "{page}");
        assert!(page.contains("The last hour: 1m 30s at most, from "), "{page}");
        assert!(words(&page).contains("p50 50ms, p99 50ms"), "{page}");
        // The policy of the page allows no style and no script within it.
        for forbidden in ["style=", "<style", "<script>"] {
            assert!(!page.contains(forbidden), "{forbidden}: {page}");
        }
        let day = person.page("/?span=1d").await;
        assert!(day.contains("The last day: 1,241 in all"), "{day}");
        let week = person.page("/?span=1w").await;
        assert!(week.contains("The last week: 1,241 in all"), "{week}");
        assert!(week.len() < 100_000, "{} bytes", week.len());

        let one = person.page("/figures?span=1d&channel=http").await;
        assert_eq!((one.matches("<svg").count(), one.matches("scope=\"row\"").count()), (6, 3), "{one}");
        // A row says when it was, and not that it was an hour ago as the five beside it.
        assert!(one.contains(" UTC</time></th>") && !one.contains(" ago</time></th>"), "{one}");
        assert!(person.page("/figures?span=1d").await.contains("/figures?span=1d&amp;channel=http"));
        assert!(person.page("/figures?channel=nothing").await.contains("Nothing was done on this channel"));
        for path in ["/?span=1y", "/figures?span=1y"] {
            let refused = person.look(path).await;
            assert_eq!(refused.status, 400, "{}", refused.text);
            assert!(
                words(&refused.text).contains("span = &quot;1y&quot;: 1y is not known; it must be one of"),
                "{}",
                refused.text
            );
        }
        outbox.sql("DROP TABLE outbox_minute").await;
        let without = async || {
            let page = person.page("/").await;
            assert!(words(&page).contains("Who polls"), "{page}");
            words(&page).contains("The figures over time cannot be read.").then_some(())
        };
        eventually("the page says that there are none", PATIENCE, without).await;
    }
}

#[tokio::test]
async fn the_overview_charts_the_busiest_channels_and_stays_small_beside_many() {
    let [outbox, ..] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, "").await;
    let hours = (0..168).map(|hour| hour * 60);
    let in_ten_minutes = (0..144).map(|part| part * 10 + 5);
    for minutes in hours.chain(in_ten_minutes) {
        let of = |number: u64| {
            let (name, count) = (format!("a-channel-with-a-name-{number:02}"), 100 * number + minutes * 7_919 % 997);
            let mut figures = delivered(&name, count, Some(Duration::from_millis(count)));
            for figures in figures.values_mut() {
                figures.failed = count / 9;
            }
            figures
        };
        let all = (1..=12).flat_map(of).collect();
        outbox.database.add_figures(Shard::default(), Duration::from_mins(minutes), &all).await.unwrap();
    }
    let person = super::Person::at(&stage.url);
    for span in ["1h", "1d", "1w"] {
        let page = person.page(&format!("/?span={span}")).await;
        assert!(page.len() < 100_000, "{span}: {} bytes", page.len());
        assert_eq!(page.matches("<figure class=\"chart").count(), 18, "{span}: three of each of six channels");
        let charted: Vec<_> =
            page.split("&amp;channel=a-channel-with-a-name-").skip(1).map(|rest| &rest[..2]).collect();
        assert_eq!(charted, ["12", "11", "10", "09", "08", "07"], "{span}");
        let said = "6 other channels that did less are left out. All 12 channels";
        assert!(words(&page).contains(said), "{span}: {}", words(&page));
        let (charts, channels) = (page.find("<h2>Over time"), page.find("<h2>Channels"));
        assert!(charts < channels, "the charts stand right below the first figures: {charts:?} {channels:?}");
    }
}

#[tokio::test]
async fn the_api_gives_the_figures_of_each_channel_or_of_one() {
    for outbox in outboxes::each().await {
        let stage = Stage::begin(&outbox, "").await;
        for channel in ["http", "push"] {
            let figures = delivered(channel, 3, None);
            outbox.database.add_figures(Shard::default(), Duration::from_mins(2), &figures).await.unwrap();
        }
        let person = super::Person::at(&stage.url);
        let all: serde_json::Value = serde_json::from_str(&person.page("/api/v1/figures").await).unwrap();
        assert_eq!((&all["span"], &all["step_s"]), (&"1h".into(), &60.into()), "{all}");
        let names: Vec<_> = all["channels"].as_array().unwrap().iter().map(|one| one["channel"].clone()).collect();
        assert_eq!(names, ["http", "push"]);
        let one = person.page("/api/v1/figures?span=1w&channel=push").await;
        let one: serde_json::Value = serde_json::from_str(&one).unwrap();
        let channel = &one["channels"][0];
        assert_eq!((&channel["channel"], &channel["total"]["delivered"]), (&"push".into(), &3.into()), "{one}");
        assert_eq!(channel["points"].as_array().unwrap().len(), 168, "{one}");
        assert_eq!(one["channels"].as_array().unwrap().len(), 1, "{one}");
        assert_eq!(person.look("/api/v1/figures?span=2h").await.status, 400);
    }
}
