//! A drain in an outbox that also holds other rows, beside a drain in an outbox without them.

use super::{drain, plain_drain};
use crate::grounds::Site;
use crate::measure::Bench;
use crate::number::{float, median};
use crate::pace::Pace;
use crate::replicas::Manner;
use crate::report::{Figure, Unit};
use crate::rows::{self, Rows};
use crate::scenario::Measure;

/// A condition under which a drain is measured.
struct Condition<'a> {
    name: &'static str,
    measure: Measure,
    /// The rows that the outbox holds, and how many of each kind.
    held: &'a [(Rows, usize)],
    /// The kind of the rows to deliver.
    due: Rows,
    manner: Manner,
    /// Whether a round uses up the outbox, so that each round needs a new one.
    removes: bool,
}

/// A drain beside rows that were delivered and are kept.
pub(super) async fn history(bench: &mut Bench<'_>, rows: usize) -> anyhow::Result<Vec<Figure>> {
    let held = [(Rows::Delivered { days: 1 }, bench.plan.scaled(5_000_000))];
    let manner = Manner::plain(bench.plan.in_flight);
    let (name, measure) = ("beside rows that are kept", Measure::History);
    compare(bench, rows, &Condition { name, measure, held: &held, due: Rows::Due, manner, removes: false }).await
}

/// A drain beside rows that are not due yet.
pub(super) async fn future(bench: &mut Bench<'_>, rows: usize) -> anyhow::Result<Vec<Figure>> {
    let plan = bench.plan;
    let held = [(Rows::Tomorrow, plan.scaled(1_000_000)), (Rows::Waiting, plan.scaled(100_000))];
    let manner = Manner::plain(plan.in_flight);
    let (name, measure) = ("beside rows that are not due", Measure::Future);
    compare(bench, rows, &Condition { name, measure, held: &held, due: Rows::Due, manner, removes: false }).await
}

/// A drain of rows with ordering keys. Then a drain without, beside ordering keys whose rows wait.
pub(super) async fn ordered(bench: &mut Bench<'_>, rows: usize) -> anyhow::Result<Vec<Figure>> {
    let plan = bench.plan;
    let manner = Manner::plain(plan.in_flight);
    let mut figures = Vec::new();
    for (name, measure, due) in [
        ("in 100 to each ordering key", Measure::OrderedKeys, Rows::Keyed(rows.div_ceil(100))),
        ("in an ordering key for each", Measure::OrderedKeysOfOne, Rows::Keyed(rows)),
    ] {
        let keys = Condition { name, measure, held: &[], due, manner: manner.clone(), removes: true };
        figures.extend(compare(bench, rows, &keys).await?);
    }
    let many = plan.scaled(100_000);
    for (name, measure, held) in [
        ("beside a halted ordering key", Measure::OrderedHalted, &[(Rows::Halting, 1), (Rows::Halted, many)][..]),
        ("beside ordering keys that wait", Measure::OrderedWaiting, &[(Rows::KeyedTomorrow, many)]),
    ] {
        let beside = Condition { name, measure, held, due: Rows::Due, manner: manner.clone(), removes: false };
        figures.extend(compare(bench, rows, &beside).await?);
    }
    Ok(figures)
}

/// A drain while the poller removes rows that are past their retention.
pub(super) async fn retention(bench: &mut Bench<'_>, rows: usize) -> anyhow::Result<Vec<Figure>> {
    let old = bench.plan.scaled(1_000_000);
    let held = [(Rows::Delivered { days: 2 }, old)];
    let manner = Manner { keep: "1d", ..Manner::plain(bench.plan.in_flight) };
    let (name, measure) = ("while old rows are removed", Measure::Retention);
    compare(bench, rows, &Condition { name, measure, held: &held, due: Rows::Due, manner, removes: true }).await
}

/// A drain whose deliveries are kept.
pub(super) async fn deliveries(bench: &mut Bench<'_>, rows: usize) -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (name, measure, record) in [
        ("with a summary of each delivery", Measure::DeliveriesSummary, "summary"),
        ("with the answer of each delivery", Measure::DeliveriesFull, "full"),
    ] {
        let mut manner = Manner::plain(bench.plan.in_flight);
        manner.channels["http"]["record_deliveries"] = record.into();
        let kept = Condition { name, measure, held: &[], due: Rows::Due, manner, removes: true };
        figures.extend(compare(bench, rows, &kept).await?);
    }
    Ok(figures)
}

/// Measures rounds of a plain drain and a drain under the condition.
async fn compare(bench: &mut Bench<'_>, rows: usize, condition: &Condition<'_>) -> anyhow::Result<Vec<Figure>> {
    let Condition { name, measure, held, due, manner, removes } = condition;
    let (mut plain, mut under, mut removed) = (Vec::new(), Vec::new(), Vec::new());
    let mut kept = None;
    let mut pace = Pace::of(name, bench.plan.rounds);
    for _ in 0..bench.plan.rounds {
        plain.push(plain_drain(bench, &Manner::plain(bench.plan.in_flight), rows).await?.rate());
        let site = match kept.take() {
            Some(site) => site,
            None => site_with(bench, held).await?,
        };
        under.push(drain(bench, &site, manner, *due, rows).await?.rate());
        let both = (plain.last().copied().unwrap_or_default(), under.last().copied().unwrap_or_default());
        pace.round_is_over(&format!("drain {:.0}/s, {name} {:.0}/s", both.0, both.1));
        if *removes {
            let delivered: usize = held.iter().map(|(_, count)| count).sum::<usize>() + rows;
            removed.push(float(delivered - rows::count(&site.database, "SUCCESS").await?));
            bench.grounds.remove(site).await?;
        } else {
            kept = Some(site);
        }
    }
    if let Some(site) = kept {
        bench.grounds.remove(site).await?;
    }
    let dialect = bench.grounds.dialect();
    let mut figures = vec![
        Figure::new(format!("R {name}"), Unit::PerSecond, median(under.clone()))
            .beside("R of a drain", median(plain))
            .goal(*measure, dialect)
            .rounds(under),
    ];
    let held: usize = held.iter().map(|(_, count)| count).sum();
    if held > 0 {
        figures.push(Figure::new("rows held", Unit::Count, float(held)));
    }
    if *measure == Measure::Retention {
        figures.push(Figure::new("of them removed meanwhile", Unit::Count, median(removed)));
    }
    Ok(figures)
}

async fn site_with(bench: &Bench<'_>, held: &[(Rows, usize)]) -> anyhow::Result<Site> {
    let site = bench.grounds.site().await?;
    for (kind, count) in held {
        rows::insert(&site.database, *kind, *count, &bench.receiver.url).await?;
    }
    Ok(site)
}
