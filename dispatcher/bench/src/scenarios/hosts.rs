//! Many hosts: healthy ones, beside a bare client with as many connections; and closed ones, in front of a healthy destination.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpSocket;

use super::destinations;
use crate::measure::Bench;
use crate::number::{float, median_of};
use crate::pace::Pace;
use crate::part::kind::Kind;
use crate::part::receiver::Receiver;
use crate::part::{Orders, Part, poster};
use crate::replicas::Manner;
use crate::report::{Figure, Unit};
use crate::rows::{self, Rows};
use crate::scenario::Measure;

/// The messages of each healthy host.
const EACH: usize = 5;

/// The number of closed hosts, and of rows for the healthy destination behind theirs.
const CLOSED: usize = 100_000;
const BEHIND: usize = 10_000;

struct Round {
    bare: f64,
    product: f64,
    peak: f64,
    alone: destinations::Rates,
    behind: destinations::Rates,
}

pub(super) async fn run(bench: &mut Bench<'_>, rows: usize) -> anyhow::Result<Vec<Figure>> {
    // This socket never listens. A client that connects is refused, and no other process gets the port.
    let closed = TcpSocket::new_v4()?;
    closed.bind(SocketAddr::from(([0, 0, 0, 0], 0)))?;
    let closed_url = format!("http://127.0.0.1:{}/hook", closed.local_addr()?.port());
    let (closed_hosts, behind_rows) = (bench.plan.scaled(CLOSED), bench.plan.scaled(BEHIND));
    let many = Receiver::start(Kind::Webhooks { thinking: Duration::ZERO, hosts: true }).await?;
    let own = std::mem::replace(&mut bench.receiver, many);
    let mut healthy_rounds = Vec::new();
    for _ in 0..bench.plan.rounds {
        healthy_rounds.push(healthy(bench, rows).await?);
    }
    bench.receiver = own;
    let mut rounds = Vec::new();
    let mut pace = Pace::of("hosts", bench.plan.rounds);
    for (bare, product, peak) in healthy_rounds {
        let alone = destinations::measure(bench, &[], behind_rows).await?;
        let held = [(Rows::Hosts(closed_hosts), &closed_url, closed_hosts)];
        let behind = destinations::measure(bench, &held, behind_rows).await?;
        pace.round_is_over(&format!(
            "bare {bare:.0}/s, the product {product:.0}/s; behind closed ones {:.0}/s, alone {:.0}/s",
            behind.whole, alone.whole
        ));
        rounds.push(Round { bare, product, peak, alone, behind });
    }
    let dialect = bench.grounds.dialect();
    Ok(vec![
        Figure::new("R to many healthy hosts", Unit::PerSecond, median_of(&rounds, |round| round.product))
            .beside("a bare client", median_of(&rounds, |round| round.bare))
            .goal(Measure::Hosts, dialect)
            .rounds(rounds.iter().map(|round| round.product)),
        Figure::new("peak memory meanwhile", Unit::Bytes, median_of(&rounds, |round| round.peak))
            .goal(Measure::HostsMemory, dialect),
        Figure::new(
            "R behind closed hosts, from the start of the term",
            Unit::PerSecond,
            median_of(&rounds, |round| round.behind.whole),
        )
        .beside("alone", median_of(&rounds, |round| round.alone.whole))
        .goal(Measure::HostsClosed, dialect)
        .rounds(rounds.iter().map(|round| round.behind.whole)),
        Figure::new(
            "the same from the first message",
            Unit::PerSecond,
            median_of(&rounds, |round| round.behind.flowing),
        )
        .beside("alone", median_of(&rounds, |round| round.alone.flowing)),
        Figure::new("closed hosts", Unit::Count, float(closed_hosts)),
    ])
}

/// Messages for healthy hosts. Returns the rate of a bare client, and the rate and the peak memory of the product.
async fn healthy(bench: &mut Bench<'_>, rows: usize) -> anyhow::Result<(f64, f64, f64)> {
    let hosts = rows.div_ceil(EACH);
    let url = bench.receiver.url.clone();
    let urls = (0..hosts).map(|host| url.replacen(rows::LOOPBACK, &rows::host(host), 1)).collect();
    bench.receiver.begin().await?;
    let orders = poster::Orders { urls, requests: rows, in_flight: bench.plan.in_flight, clients: 1, tls_ca: None };
    let _: poster::Posted = Part::done(&Orders::Post(orders)).await?;
    let bare = bench.receiver.arrivals().await?.rate();
    let site = bench.grounds.site().await?;
    rows::insert(&site.database, Rows::Hosts(hosts), rows, &url).await?;
    rows::tidy(&site.database).await?;
    let delivered = bench.deliver(&site, &Manner::plain(bench.plan.in_flight), rows).await?;
    bench.grounds.remove(site).await?;
    Ok((bare, delivered.rate(), delivered.peak.unwrap_or_default()))
}
