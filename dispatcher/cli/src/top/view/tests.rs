//! What a terminal shows of a state, at 80 columns of 24 lines and at 120 of 40.

use std::sync::Arc;

use outbox_console::health::replicas::PerMinute;
use outbox_console::health::status::Status;
use outbox_desk::{FiguresPoint, FiguresSeries, HeldUp, Vitals};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;

const SIZES: [(u16, u16); 2] = [(80, 24), (120, 40)];

/// The lines of a terminal that shows a state at ten o'clock.
fn drawn((columns, lines): (u16, u16), look: &Look) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap_or_else(|never| match never {});
    let now = humantime::parse_rfc3339("2026-05-01T10:00:00Z").unwrap_or(SystemTime::UNIX_EPOCH);
    terminal.draw(|frame| draw(frame, look, now)).unwrap_or_else(|never| match never {});
    let screen = terminal.backend().to_string();
    screen.lines().map(|line| line.trim_matches('"').trim_end().to_owned()).collect()
}

/// Asserts that the lines are there, in this order, each whole.
fn assert_lines(screen: &[String], lines: &[&str]) {
    let mut left = screen.iter();
    for line in lines {
        assert!(left.any(|shown| shown == line), "`{line}` is not in its place in\n{}", screen.join("\n"));
    }
}

fn letter(id: i64, target: &str, error: &str) -> DeadLetter {
    let json = serde_json::json!({
        "id": id, "idempotency_key": "k", "channel": "http", "target": target, "destination": "d", "dead_reason": "exhausted",
        "attempts": 5, "last_error": error, "last_status_code": 503, "fingerprint": "f", "created_at": "2026-05-01T09:00:00Z",
        "dead_at": "2026-05-01T09:59:30Z",
    });
    serde_json::from_value(json).unwrap_or_else(|why| panic!("{why}"))
}

fn retried(id: i64, error: &str) -> MessageSummary {
    let json = serde_json::json!({
        "id": id, "idempotency_key": "k", "channel": "http", "target": "https://shop.example/hooks", "destination": "d",
        "ordering_key": null, "priority": 100, "status": "PENDING", "dead_reason": null, "attempts": 2,
        "available_at": "2026-05-01T10:00:12Z", "deferred_from": null, "created_at": "2026-05-01T09:59:00Z", "finished_at": null,
        "last_error": error, "last_status_code": 502,
    });
    serde_json::from_value(json).unwrap_or_else(|why| panic!("{why}"))
}

fn incident() -> Look {
    let http = ChannelVitals {
        channel: "http".to_owned(),
        pending: 1_300,
        due: 1_234,
        deferred: 5,
        dead: 3,
        lag_ms: Some(61_000),
    };
    let point = |delivered| FiguresPoint { delivered, ..FiguresPoint::default() };
    let figures = |channel: &str, points: [u64; 4]| ChannelFigures {
        channel: channel.to_owned(),
        points: points.into_iter().map(point).collect(),
        total: FiguresPoint { failed: 17, p99_ms: Some(250), ..FiguresPoint::default() },
    };
    let shard = ShardStatus {
        shard: 0,
        state: State::Polled,
        holder: Some("holder".to_owned()),
        instance: Some("pod-7".to_owned()),
        epoch: Some(4),
        since: None,
        since_ms: Some(250_000),
        trusted_ms: Some(5_000),
        error: None,
    };
    let status = Status {
        vitals: Vitals { channels: vec![http], ..Vitals::default() },
        not_configured: Vec::new(),
        shards: vec![shard],
        last_terms: Vec::new(),
        replicas: Vec::new(),
        per_minute: None,
        waiting: None,
        notes: vec!["to be looked at".to_owned()],
    };
    let destination = DestinationEntry {
        destination: "https://shop.example:443".to_owned(),
        held: HeldUp::Broken { until: String::new(), remaining_ms: 4_000 },
        failures: 3,
        waiting: 5,
        due: 0,
        due_more: false,
        oldest_ms: None,
        reason: Some("503 Service Unavailable".to_owned()),
    };
    let figures = FiguresSeries {
        channels: vec![figures("http", [9, 0, 1, 8]), figures("push", [1, 1, 1, 1])],
        ..FiguresSeries::default()
    };
    let seen = Seen {
        status,
        destinations: vec![destination],
        figures,
        retried: vec![retried(42, "502 Bad Gateway")],
        dead: vec![letter(7, "https://shop.example/hooks/orders", "503 Service Unavailable, and five attempts")],
    };
    Look { seen: Arc::new(seen), trouble: None }
}

#[test]
fn an_incident_fits_80_columns_and_24_lines() {
    let screen = drawn(SIZES[0], &incident());
    assert_lines(
        &screen,
        &[
            "due 1,234  deferred 5  dead 3  (q leaves)",
            "shard 0: polled by pod-7 for 4m 10s",
            "to be looked at",
            "http                       1m 1s 1,234        5    3 █ ▁█               17 250ms",
            "push                           -     0        0    0 ████               17 250ms",
            "https://shop.example… breaker open for 4.0s       5 503 Service Unavailable",
            "What fails: tried again, and dead; 34 attempts failed within the hour ──────────",
            "in 12 s  try 3     42 http    https://shop.example… 502 Bad Gateway",
            "30 s ago exhausted  7 http    https://shop.example… 503 Service Unavailable, an…",
        ],
    );
}

#[test]
fn an_incident_is_shown_whole_on_120_columns() {
    let screen = drawn(SIZES[1], &incident());
    assert_lines(
        &screen,
        &[
            "due 1,234  deferred 5  dead 3  (q leaves)",
            "shard 0: polled by pod-7 for 4m 10s",
            "to be looked at",
            "http                                                               1m 1s 1,234        5    3 █ ▁█               17 250ms",
            "push                                                                   -     0        0    0 ████               17 250ms",
            "https://shop.example:443 breaker open for 4.0s       5 503 Service Unavailable",
            "in 12 s  try 3     42 http    https://shop.example/hooks        502 Bad Gateway",
            "30 s ago exhausted  7 http    https://shop.example/hooks/orders 503 Service Unavailable, and five attempts",
        ],
    );
}

#[test]
fn a_narrow_terminal_leaves_out_whole_columns_and_cuts_no_number() {
    let mut look = incident();
    let seen = Arc::get_mut(&mut look.seen).unwrap_or_else(|| panic!("the state has one owner"));
    seen.status.vitals.channels[0].lag_ms = Some(111_000);
    for (columns, heading, row) in [
        (60, "CHANNEL         LAG   DUE DEFERRED DEAD FAILED 1H      P99", "http"),
        (
            50,
            "CHANNEL    LAG   DUE DEFERRED DEAD FAILED 1H   P99",
            "http    1m 51s 1,234        5    3        17 250ms",
        ),
        (40, "CHANNEL    LAG   DUE DEFERRED DEAD   P99", "http    1m 51s 1,234        5    3 250ms"),
        (30, "CHANNEL    LAG   DUE DEFERRED", "http    1m 51s 1,234        5"),
        (16, "CHANNEL    LAG", "http    1m 51s"),
    ] {
        let screen = drawn((columns, 24), &look);
        let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let shown: Vec<_> = screen.iter().map(|line| squeezed(line)).collect();
        assert!(shown.contains(&squeezed(heading)), "{heading:?} is not in\n{}", screen.join("\n"));
        assert!(shown.iter().any(|line| line.starts_with(&squeezed(row))), "{row:?} is not in\n{}", screen.join("\n"));
    }
}

#[test]
fn what_was_counted_in_a_minute_is_shown_as_a_rate() {
    let mut look = incident();
    let seen = Arc::get_mut(&mut look.seen).unwrap_or_else(|| panic!("the state has one owner"));
    seen.status.per_minute = Some(PerMinute { delivered: 8_977, failed: 10_175, seen_ms: 1_000 });
    let line = "due 1,234  deferred 5  dead 3  8,977/min delivered, 10,175/min failed  (q leaves)";
    assert_lines(&drawn(SIZES[1], &look), &[line]);
}

#[test]
fn texts_of_rows_are_shown_as_what_they_are_and_move_nothing() {
    for size in SIZES {
        let mut look = incident();
        let seen = Arc::get_mut(&mut look.seen).unwrap_or_else(|| panic!("the state has one owner"));
        seen.status.vitals.channels[0].channel = "ht\u{1b}[2Jtp".to_owned();
        seen.status.notes = vec!["a\nnote".to_owned()];
        seen.destinations[0].destination = "https://\u{202e}evil:443".to_owned();
        seen.destinations[0].reason = Some("\u{200b}".to_owned());
        seen.dead = vec![letter(7, "a\tb", "\u{202e}drow")];
        let screen = drawn(size, &look).join("\n");
        for part in ["ht\\u{1b}[2Jtp", "a\\nnote", "https://\\u{202e}evil", "\\u{200b}", "a\\tb", "\\u{202e}drow"] {
            assert!(screen.contains(part), "{part} is not in\n{screen}");
        }
        let shown: Vec<_> = screen.chars().filter(|c| c.is_control() && *c != '\n' || *c == '\u{202e}').collect();
        assert_eq!(shown, [], "{screen}");
    }
}

#[test]
fn nothing_fails_only_where_no_attempt_failed_within_the_hour() {
    let mut look = incident();
    let seen = Arc::get_mut(&mut look.seen).unwrap_or_else(|| panic!("the state has one owner"));
    (seen.retried, seen.dead) = (Vec::new(), Vec::new());
    let screen = drawn(SIZES[0], &look).join("\n");
    assert!(screen.contains("34 attempts failed within the hour") && !screen.contains("Nothing fails"), "{screen}");
    let seen = Arc::get_mut(&mut look.seen).unwrap_or_else(|| panic!("the state has one owner"));
    seen.figures = FiguresSeries::default();
    let screen = drawn(SIZES[0], &look).join("\n");
    assert!(screen.contains("Nothing fails"), "{screen}");
}

#[test]
fn much_of_everything_leaves_room_for_what_fails() {
    let mut look = incident();
    let seen = Arc::get_mut(&mut look.seen).unwrap_or_else(|| panic!("the state has one owner"));
    let channels = (0..40).map(|at| ChannelVitals { channel: format!("channel-{at:02}"), ..ChannelVitals::default() });
    seen.status.vitals.channels = channels.collect();
    seen.figures = FiguresSeries::default();
    seen.destinations = vec![seen.destinations[0].clone(); 30];
    seen.retried = (100..150).map(|id| retried(id, "502 Bad Gateway")).collect();
    seen.dead = (1..50).map(|id| letter(id, "t", "e")).collect();
    for (size, [channels, destinations, retried, dead]) in SIZES.into_iter().zip([[6, 3, 3, 3], [12, 6, 7, 6]]) {
        let screen = drawn(size, &look);
        let lines = |part: &str| screen.iter().filter(|line| line.contains(part)).count();
        assert_eq!(lines("channel-"), channels, "{screen:#?}");
        assert_eq!(lines("breaker open for"), destinations, "{screen:#?}");
        assert_eq!((lines("try 3"), lines("exhausted")), (retried, dead), "{screen:#?}");
        assert!(
            lines(&format!("Channels ({channels} of 40)")) == 1
                && lines(&format!("Held up ({destinations} of 30)")) == 1
        );
    }
}

#[test]
fn an_outbox_that_answers_no_more_stays_in_view_with_the_reason() {
    let look = Look { trouble: Some("the database is down".to_owned()), ..incident() };
    for size in SIZES {
        assert_lines(
            &drawn(size, &look),
            &["no answer since: the database is down", "shard 0: polled by pod-7 for 4m 10s"],
        );
    }
}

#[test]
fn an_error_begins_with_what_the_server_said_where_its_origin_is_that_of_the_target() {
    let error = "http://127.0.0.1:6230 answered 503: the receiver is down";
    assert_eq!(without_origin(error, "http://127.0.0.1:6230/hooks?a"), "answered 503: the receiver is down");
    assert_eq!(without_origin(error, "http://127.0.0.1:623/hooks"), error, "it is of another server");
    assert_eq!(without_origin("in doubt", "orders"), "in doubt");
    let mut look = incident();
    let seen = Arc::get_mut(&mut look.seen).unwrap_or_else(|| panic!("the state has one owner"));
    seen.dead = vec![letter(7, "http://127.0.0.1:6230/hooks", error)];
    let screen = drawn(SIZES[0], &look).join("\n");
    assert!(screen.contains("answered 503: "), "{screen}");
}
