//! Figures over time: who writes them, how they add up, and how long they are kept.

use std::collections::BTreeMap;
use std::time::Duration;

use outbox_desk::{ChannelFigures, Desk, FiguresFilter, Span};
use outbox_schema::NewMessage;
use outbox_store::Shard;
use outbox_store::figures::{Figures, OTHERS};
use outbox_tests::eventually;

use crate::outboxes::{self, Outbox};
use crate::program::{HTTP, PATIENCE, Program};
use crate::sink::Sink;

const DAY: Duration = Duration::from_hours(24);

/// One channel with this many deliveries, each of them of 30 ms, and so much lag.
pub(crate) fn delivered(channel: &str, delivered: u64, most_lag: Option<Duration>) -> BTreeMap<String, Figures> {
    let mut figures = Figures { delivered, failed: 1, dead: 1, most_lag, ..Figures::default() };
    (0..delivered).for_each(|_| figures.latency.count(Duration::from_millis(30)));
    BTreeMap::from([(channel.to_owned(), figures)])
}

async fn add(outbox: &Outbox, age: Duration, figures: &BTreeMap<String, Figures>) {
    outbox.database.add_figures(Shard::default(), age, figures).await.unwrap();
}

/// The figures of the channel `http`.
async fn of_http(outbox: &Outbox, span: Span) -> ChannelFigures {
    let filter = FiguresFilter { span, channel: Some("http".to_owned()) };
    let series = outbox.database.figures(&filter).await.unwrap();
    assert!(series.channels.len() <= 1, "{series:?}");
    let [channel] = series.channels.try_into().unwrap_or_default();
    channel
}

async fn rows(outbox: &Outbox, condition: &str) -> i64 {
    outbox.number(&format!("SELECT count(*) FROM outbox_minute WHERE {condition}")).await
}

#[tokio::test]
async fn the_figures_of_two_terms_add_up() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        let program = Program::new(&outbox.test.url, HTTP);
        let good = || NewMessage::http(sink.url("/hook")).json(&1);
        outbox.enqueue(&[good(), good()]).await;
        program.deliver().await;
        outbox.enqueue(&[good(), good(), good(), NewMessage::http(sink.url("/garbage")).json(&1)]).await;
        program.deliver().await;
        assert_eq!(outbox.number("SELECT max(epoch) FROM outbox_term").await, 2, "two terms");

        let channel = of_http(&outbox, Span::Hour).await;
        let total = &channel.total;
        assert_eq!([total.delivered, total.failed, total.dead, total.in_doubt], [5, 1, 1, 0], "{total:?}");
        assert!(total.p50_ms.is_some() && total.p99_ms >= total.p50_ms, "{total:?}");
        assert_eq!(channel.points.len(), 60);
        let late = channel.points[58..].iter().map(|point| point.delivered).sum::<u64>();
        assert!(late == 5 || channel.points[55..].iter().map(|point| point.delivered).sum::<u64>() == 5, "{channel:?}");
        let answer = program.run(&["status", "--json"]).await.json();
        assert_eq!(answer["last_terms"].as_array().unwrap().len(), 2);
    }
}

#[tokio::test]
async fn what_is_written_in_one_minute_is_one_row_whoever_writes_it() {
    for outbox in outboxes::each().await {
        let lag = |seconds| Some(Duration::from_secs(seconds));
        // The minute may end between the two.
        let in_one = async || {
            outbox.sql("DELETE FROM outbox_minute").await;
            for (count, lag) in [(2, lag(7)), (3, None), (1, lag(3))] {
                add(&outbox, Duration::ZERO, &delivered("http", count, lag)).await;
            }
            (rows(&outbox, "minutes = 1").await == 1).then_some(())
        };
        eventually("the minute lasts", PATIENCE, in_one).await;
        assert_eq!(rows(&outbox, "delivered = 6 AND failed = 3 AND dead = 3 AND lag_ms = 7000 AND ms_50 = 6").await, 1);
    }
}

#[tokio::test]
async fn minutes_become_hours_after_two_days_and_nothing_is_lost_by_it() {
    for outbox in outboxes::each().await {
        // 130 minutes are in three or four hours.
        for minute in 0..130 {
            let age = DAY * 3 + Duration::from_mins(minute);
            add(&outbox, age, &delivered("http", 1, Some(Duration::from_secs(minute)))).await;
        }
        add(&outbox, DAY, &delivered("http", 10, None)).await;
        add(&outbox, DAY * 3, &delivered(OTHERS, 1, None)).await;
        let before = of_http(&outbox, Span::Week).await;
        assert_eq!(before.total.delivered, 140, "{:?}", before.total);

        // Two pollers at once, as at a change of pollers.
        let roll = async || while outbox.database.roll_figures_up().await.unwrap() {};
        tokio::join!(roll(), roll());
        let hours = rows(&outbox, "minutes = 60 AND channel = 'http'").await;
        assert!((3..=4).contains(&hours), "{hours}");
        assert_eq!(rows(&outbox, "minutes = 1").await, 1, "the minute of yesterday");
        assert_eq!(of_http(&outbox, Span::Week).await, before);
        assert!(!outbox.database.roll_figures_up().await.unwrap());
        // A minute that comes late joins its hour.
        add(&outbox, DAY * 3, &delivered("http", 5, None)).await;
        roll().await;
        assert_eq!(rows(&outbox, "minutes = 60 AND channel = 'http'").await, hours);
        assert_eq!(of_http(&outbox, Span::Week).await.total.delivered, 145);
    }
}

#[tokio::test]
async fn figures_are_removed_after_their_retention() {
    for outbox in outboxes::each().await {
        for days in [1, 89, 91, 400] {
            add(&outbox, DAY * days, &delivered("http", 1, None)).await;
        }
        outbox.database.remove_figures(DAY * 90).await.unwrap();
        assert_eq!(rows(&outbox, "1 = 1").await, 2);
        // The poller does the same, by the settings.
        let settings = format!("[retention]\nfigures = \"50d\"\n{HTTP}");
        let _replica = Program::new(&outbox.test.url, &settings).start_for_good();
        let one = async || (rows(&outbox, "1 = 1").await == 1).then_some(());
        eventually("the poller has removed what is older", PATIENCE, one).await;
    }
}

#[tokio::test]
async fn the_poller_notes_the_lag_of_what_waits_and_names_no_channel_that_is_not_configured() {
    for outbox in outboxes::each().await {
        for channel in ["http", "typo", "another"] {
            outbox
                .sql(&format!("INSERT INTO outbox (channel, target, payload) VALUES ('{channel}', '/hook', '1')"))
                .await;
        }
        let settings = format!("{HTTP}base_url = \"http://127.0.0.1:9\"\n");
        let _replica = Program::new(&outbox.test.url, &settings).start_for_good();
        let lag = async || {
            let series = outbox.database.figures(&FiguresFilter::default()).await.unwrap();
            let late = series.channels.into_iter().filter(|channel| channel.total.most_lag_ms > Some(0));
            Some(late.map(|channel| channel.channel).collect::<Vec<_>>()).filter(|late| late.len() == 2)
        };
        assert_eq!(eventually("the lag is noted", PATIENCE, lag).await, [OTHERS, "http"]);
    }
}

#[tokio::test]
async fn figures_that_cannot_be_written_stop_no_delivery() {
    for outbox in outboxes::each().await {
        let sink = Sink::start().await;
        // As for a role that has the grants of the release before.
        outbox.sql("DROP TABLE outbox_minute").await;
        outbox.enqueue(&[NewMessage::http(sink.url("/hook")).json(&1)]).await;
        let log = Program::new(&outbox.test.url, HTTP).deliver().await;
        assert_eq!(log.matches("figures.failed").count(), 1, "{log}");
        assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE status = 'SUCCESS'").await, 1, "{log}");
    }
}
