//! docs/guarantees.md says what the program computes.

use std::time::Duration;

use outbox_dispatcher::poller::claim::SETTLING_MARGIN;
use outbox_dispatcher::term::leadership::longest_campaign_pause;
use outbox_dispatcher::term::trust::trust_margin;

const PAGE: &str = include_str!("../../../../docs/guarantees.md");

/// Of an HTTP channel by default.
const TIMEOUT: Duration = Duration::from_secs(15);

#[test]
fn the_table_of_leases_is_what_the_program_computes() {
    let rows: Vec<Vec<&str>> = PAGE
        .lines()
        .skip_while(|line| !line.starts_with("| `lease.ttl`"))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.split('|').map(|cell| cell.trim().trim_matches('*')).collect())
        .collect();
    assert_eq!(rows.len(), 5, "{rows:?}");
    for row in rows {
        let ttl = humantime::parse_duration(row[1]).unwrap();
        let gap = (ttl + longest_campaign_pause(ttl)).as_secs_f64();
        let pause = (ttl * 2 / 3).saturating_sub(trust_margin(ttl)).as_secs_f64();
        let settled = ttl + TIMEOUT + SETTLING_MARGIN;
        // A cost is rounded up, and what is tolerated down.
        let cells = [
            format!("{:.1} s", (gap * 10.0).ceil() / 10.0),
            format!("{:.1} s", (pause * 10.0).floor() / 10.0),
            format!("{} s", settled.as_secs()),
        ];
        assert_eq!(row[2..5], cells.each_ref().map(String::as_str), "ttl {ttl:?}");
    }
}
