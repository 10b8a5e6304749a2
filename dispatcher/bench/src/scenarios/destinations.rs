//! A healthy destination behind many rows of a dead destination and of a slow one, beside the healthy destination
//! alone.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::net::TcpSocket;

use crate::counters::LOOK;
use crate::grounds::Site;
use crate::measure::{Bench, epoch};
use crate::number::{float, median_of};
use crate::pace::Pace;
use crate::part::kind::Kind;
use crate::part::receiver::Receiver;
use crate::replicas::{Manner, Replicas};
use crate::report::{Figure, Unit};
use crate::rows::{self, Rows};
use crate::scenario::Measure;

/// The time from a request to the answer of the slow destination.
const THINKING: Duration = Duration::from_secs(10);

/// Messages a second to the healthy destination.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rates {
    /// From the first message to the last.
    pub(super) flowing: f64,
    /// From the start of the term to the last message.
    pub(super) whole: f64,
}

pub(super) async fn run(bench: &mut Bench<'_>, rows: usize) -> anyhow::Result<Vec<Figure>> {
    // This socket never listens. A client that connects is refused, and no other process gets the port.
    let dead = TcpSocket::new_v4()?;
    dead.bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
    let dead_url = format!("http://{}/hook", dead.local_addr()?);
    let slow = Receiver::start(Kind::Webhooks { thinking: THINKING, hosts: false }).await?;
    let held = bench.plan.scaled(100_000);
    let mut rounds = Vec::new();
    let mut pace = Pace::of("destinations", bench.plan.rounds);
    for _ in 0..bench.plan.rounds {
        let alone = measure(bench, &[], rows).await?;
        let beside = measure(bench, &[(Rows::Due, &dead_url, held), (Rows::Due, &slow.url, held)], rows).await?;
        let (before, after) = (alone.flowing, beside.flowing);
        pace.round_is_over(&format!("alone {before:.0}/s, beside the others {after:.0}/s"));
        rounds.push((alone, beside));
    }
    let figure = |name: &str, rate: fn(&Rates) -> f64| {
        Figure::new(name, Unit::PerSecond, median_of(&rounds, |(_, beside)| rate(beside)))
            .beside("alone", median_of(&rounds, |(alone, _)| rate(alone)))
            .rounds(rounds.iter().map(|(_, beside)| rate(beside)))
    };
    Ok(vec![
        figure("R beside a dead and a slow destination", |rates| rates.flowing)
            .goal(Measure::Destinations, bench.grounds.dialect()),
        figure("the same from the start of the term", |rates| rates.whole)
            .goal(Measure::DestinationsWhole, bench.grounds.dialect()),
        Figure::new("rows held, for either", Unit::Count, float(held)),
    ])
}

/// Inserts the `held` rows for other destinations, and then `rows` for the healthy destination. Measures the delivery
/// of the latter.
pub(super) async fn measure(
    bench: &mut Bench<'_>,
    held: &[(Rows, &String, usize)],
    rows: usize,
) -> anyhow::Result<Rates> {
    let site = bench.grounds.site().await?;
    for (kind, target, count) in held {
        rows::insert(&site.database, *kind, *count, target).await?;
    }
    rows::insert(&site.database, Rows::Due, rows, &bench.receiver.url).await?;
    rows::tidy(&site.database).await?;
    let rates = deliver(bench, &site, rows).await?;
    bench.grounds.remove(site).await?;
    Ok(rates)
}

/// Delivers the rows of the healthy destination, and then kills the replica: the slow rows would take hours.
async fn deliver(bench: &mut Bench<'_>, site: &Site, rows: usize) -> anyhow::Result<Rates> {
    let before = epoch(&site.database).await?;
    bench.receiver.begin().await?;
    let counting = Instant::now();
    let mut replicas = Replicas::start(bench.grounds, site, &Manner::plain(bench.plan.in_flight)).await?;
    while epoch(&site.database).await? == before {
        replicas.check()?;
        tokio::time::sleep(LOOK).await;
    }
    let term = counting.elapsed();
    bench.wait_for(rows, &mut replicas, &mut |_, _| ()).await?;
    let arrivals = bench.receiver.arrivals().await?;
    replicas.kill().await?;
    Ok(Rates { flowing: arrivals.rate(), whole: arrivals.rate_since(term) })
}
