//! The cost for an application to enqueue one message in its transaction, and to enqueue many at once.

use crate::measure::Bench;
use crate::number::median_of;
use crate::pace::Pace;
use crate::part::enqueuer::Enqueued;
use crate::part::{Orders, Part, enqueuer};
use crate::report::{Figure, Unit};
use crate::scenario::Measure;

pub(super) async fn run(bench: &mut Bench<'_>, rows: usize) -> anyhow::Result<Vec<Figure>> {
    let mut rounds: Vec<Enqueued> = Vec::new();
    let mut pace = Pace::of("enqueue", bench.plan.rounds);
    for _ in 0..bench.plan.rounds {
        let site = bench.grounds.site().await?;
        let (url, schema, target) = (site.url.clone(), site.schema.clone(), bench.receiver.url.clone());
        let orders = enqueuer::Orders { url, schema, target, messages: rows };
        let enqueued: Enqueued = Part::done(&Orders::Enqueue(orders)).await?;
        bench.grounds.remove(site).await?;
        let (many, bare) = (enqueued.many, enqueued.many_bare);
        pace.round_is_over(&format!("{many:.0}/s at once, bare {bare:.0}/s"));
        rounds.push(enqueued);
    }
    let dialect = bench.grounds.dialect();
    let of = |what: fn(&Enqueued) -> f64| median_of(&rounds, what);
    Ok(vec![
        Figure::new("statements to enqueue one", Unit::Count, of(|round| round.statements))
            .goal(Measure::EnqueueStatements, dialect),
        Figure::new("one in a transaction, p50", Unit::Microseconds, of(|round| round.one.p50))
            .beside("a bare INSERT", of(|round| round.one_bare.p50)),
        Figure::new("1,000 at once", Unit::PerSecond, of(|round| round.many))
            .beside("a bare INSERT of 1,000", of(|round| round.many_bare))
            .goal(Measure::EnqueueBatch, dialect)
            .rounds(rounds.iter().map(|round| round.many)),
    ])
}
