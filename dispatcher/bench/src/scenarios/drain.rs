//! The rate at which due rows are delivered, beside the rates of HTTP and of the database alone.

use crate::measure::{Bench, Delivered, Posted};
use crate::number::{Percentiles, median, median_of};
use crate::pace::Pace;
use crate::replicas::Manner;
use crate::report::{Figure, Unit};
use crate::rows::{self, Rows};
use crate::scenario::Measure;

/// A round: the three measurements, one after the other.
struct Round {
    http: Posted,
    database: f64,
    database_cpu: Option<f64>,
    product: Delivered,
    /// The rate of the product with [`FEW`] in flight.
    few: f64,
}

/// So many messages are in flight in a second drain, where waiting is the limit and not the processors.
const FEW: usize = 128;

pub(super) async fn run(bench: &mut Bench<'_>, rows: usize) -> anyhow::Result<Vec<Figure>> {
    let mut rounds = Vec::new();
    let mut pace = Pace::of("drain", bench.plan.rounds);
    for _ in 0..bench.plan.rounds {
        let http = bench.raw_http(rows).await?;
        let site = bench.grounds.site().await?;
        let (database, database_cpu) = bench.raw_database(&site, rows).await?;
        rows::insert(&site.database, Rows::Due, rows, &bench.receiver.url).await?;
        rows::tidy(&site.database).await?;
        let product = bench.deliver(&site, &Manner::plain(bench.plan.in_flight), rows).await?;
        bench.grounds.remove(site).await?;
        let few = super::plain_drain(bench, &Manner::plain(FEW), rows).await?.rate();
        let rates = [http.rate, database, product.rate(), few].map(|rate| format!("{rate:.0}/s"));
        let [h, d, r, of_few] = rates;
        pace.round_is_over(&format!("H {h}, D {d}, R {r}, with {FEW} in flight {of_few}"));
        rounds.push(Round { http, database, database_cpu, product, few });
    }
    let mut figures = rates(bench, &rounds);
    figures.extend(costs(&rounds));
    Ok(figures)
}

fn rates(bench: &Bench<'_>, rounds: &[Round]) -> Vec<Figure> {
    let http = median_of(rounds, |round| round.http.rate);
    let database = median_of(rounds, |round| round.database);
    let product = median_of(rounds, |round| round.product.rate());
    let of_each = |what: fn(&Round) -> f64| rounds.iter().map(what);
    let figure = |name: &str| Figure::new(name, Unit::PerSecond, product);
    let judged = if bench.one_machine {
        let composed = 1.0 / (1.0 / http + 1.0 / database);
        figure("R, the product")
            .beside("1/(1/H + 1/D)", composed)
            .goal(Measure::DrainOfComposed, bench.grounds.dialect())
    } else {
        figure("R, the product").beside("the lower of H and D", http.min(database))
    };
    vec![
        Figure::new("H, raw HTTP", Unit::PerSecond, http).rounds(of_each(|round| round.http.rate)),
        Figure::new("D, raw database", Unit::PerSecond, database).rounds(of_each(|round| round.database)),
        judged.rounds(of_each(|round| round.product.rate())),
        figure("R, of H").beside("H", http),
        figure("R, of D").beside("D", database),
        Figure::new(format!("R with {FEW} in flight"), Unit::PerSecond, median_of(rounds, |round| round.few))
            .beside("R", product)
            .rounds(of_each(|round| round.few)),
    ]
}

fn costs(rounds: &[Round]) -> Vec<Figure> {
    let raw = Percentiles::median(rounds, |round| round.http.took);
    let product = Percentiles::median(rounds, |round| round.product.attempts);
    let attempt = |name: &str, product: f64, raw: f64| {
        Figure::new(format!("request, {name}"), Unit::Microseconds, product).beside("of H", raw)
    };
    let bare_cpu = median_told(rounds, |round| Some(round.http.cpu? + round.database_cpu?));
    let told = |name: &str, unit, what: fn(&Round) -> Option<f64>| Figure::new(name, unit, median_told(rounds, what));
    vec![
        attempt("p50", product.p50, raw.p50),
        attempt("p95", product.p95, raw.p95),
        attempt("p99", product.p99, raw.p99),
        told("CPU per message", Unit::Microseconds, |round| round.product.cpu).beside("of H and D", bare_cpu),
        told("peak memory", Unit::Bytes, |round| round.product.peak),
        told("log written per message", Unit::Bytes, |round| round.product.spent.log_bytes),
        told("commits per message", Unit::Count, |round| round.product.spent.commits),
        told("statements per message", Unit::Count, |round| round.product.spent.statements),
    ]
}

/// The median. None where the figure of any round is missing.
fn median_told(rounds: &[Round], what: impl Fn(&Round) -> Option<f64>) -> Option<f64> {
    rounds.iter().map(what).collect::<Option<Vec<_>>>().map(median)
}
