//! A long backlog: whether the last tenth is as fast as the first, and needs no more memory.

use crate::measure::Bench;
use crate::number::{float, median};
use crate::pace::Pace;
use crate::replicas::Manner;
use crate::report::{Figure, Unit};
use crate::rows::{self, Rows};
use crate::scenario::Measure;

pub(super) async fn run(bench: &mut Bench<'_>, rows: usize) -> anyhow::Result<Vec<Figure>> {
    let [mut whole, mut first, mut last, mut early, mut late] = std::array::from_fn(|_| Vec::new());
    let tenth = float(rows) / 10.0;
    let mut pace = Pace::of("backlog", bench.plan.rounds);
    for _ in 0..bench.plan.rounds {
        let site = bench.grounds.site().await?;
        rows::insert(&site.database, Rows::Due, rows, &bench.receiver.url).await?;
        rows::tidy(&site.database).await?;
        let mut after_a_tenth = None;
        let mut watch = |count: u64, usage: crate::usage::Usage| {
            if float(count) >= tenth && after_a_tenth.is_none() {
                after_a_tenth = usage.peak_bytes;
            }
        };
        let manner = Manner::plain(bench.plan.in_flight);
        let delivered = bench.deliver_watched(&site, &manner, rows, &mut watch).await?;
        bench.grounds.remove(site).await?;
        let arrivals = &delivered.arrivals;
        whole.push(delivered.rate());
        first.push(arrivals.rate_between(0.0, tenth));
        last.push(arrivals.rate_between(tenth * 9.0, tenth * 10.0));
        early.extend(after_a_tenth);
        late.extend(delivered.peak);
        pace.round_is_over(&format!("R {:.0}/s", delivered.rate()));
    }
    let dialect = bench.grounds.dialect();
    let told = |figures: Vec<f64>| (!figures.is_empty()).then(|| median(figures));
    Ok(vec![
        Figure::new("R, the product", Unit::PerSecond, median(whole.clone())).rounds(whole),
        Figure::new("R of the last tenth", Unit::PerSecond, median(last.clone()))
            .beside("of the first", median(first))
            .goal(Measure::BacklogLastTenth, dialect)
            .rounds(last),
        Figure::new("peak memory", Unit::Bytes, told(late))
            .beside("after a tenth", told(early))
            .goal(Measure::BacklogMemory, dialect),
    ])
}
