//! The cost of a fleet that has nothing to do, beside the cost that its settings imply.

use std::time::{Duration, Instant};

use crate::counters::Counters;
use crate::measure::Bench;
use crate::number::{float, median};
use crate::pace::Pace;
use crate::redis_commands::RedisCommands;
use crate::replicas::{Manner, Replicas};
use crate::report::{Figure, Unit};
use crate::scenario::Measure;
use outbox_config::Config;
use outbox_config::campaign_interval;
use outbox_console::health::presence::EACH;
use outbox_dispatcher::destinations::LISTEN;

/// The number of replicas.
const REPLICAS: usize = 50;

/// The number of terms that the bench watches, so that the counts include hand-overs in due proportion.
const TERMS: f64 = 2.0;

/// The wait until the work at the start of a fleet is over. PostgreSQL counts the work of a connection up to ten
/// seconds late.
const SETTLE: Duration = Duration::from_secs(12);

/// The number of terms before the counts of a lone replica begin. A replica that polls for the first time prepares its
/// statements, each a transaction to PostgreSQL, and looks for old rows. The number of replicas that wait for their
/// turn makes no difference to the database. So the database's counts are also taken of one replica alone.
const TURNS: f64 = 2.0;

#[derive(Default)]
struct Rounds {
    cpu: Vec<f64>,
    commands: Vec<f64>,
    commits: Vec<f64>,
    statements: Vec<f64>,
    memory: Vec<f64>,
}

pub(super) async fn run(bench: &mut Bench<'_>) -> anyhow::Result<Vec<Figure>> {
    let replicas = bench.plan.scaled(REPLICAS);
    let turns = bench.grounds.config.lease.term.mul_f64(TURNS * bench.plan.scale);
    let (mut rounds, mut alone) = (Rounds::default(), Rounds::default());
    let mut pace = Pace::of(&format!("idle with {replicas} replicas"), bench.plan.rounds);
    for _ in 0..bench.plan.rounds {
        watch(bench, replicas, SETTLE.mul_f64(bench.plan.scale.min(1.0)), &mut rounds).await?;
        watch(bench, 1, turns, &mut alone).await?;
        pace.round_is_over("watched");
    }
    let (config, dialect) = (&bench.grounds.config, bench.grounds.dialect());
    let told = |figures: Vec<f64>| (!figures.is_empty()).then(|| median(figures));
    let commands = told(rounds.commands);
    let implied = commands.map(|_| implied_commands(config, replicas));
    Ok(vec![
        Figure::new("replicas", Unit::Count, float(replicas)),
        Figure::new("Redis commands", Unit::PerSecond, commands)
            .beside("implied", implied)
            .goal(Measure::IdleCommands, dialect),
        Figure::new("commits, each poller new", Unit::PerSecond, told(rounds.commits)),
        Figure::new("commits", Unit::PerSecond, told(alone.commits))
            .beside("implied", implied_commits(config))
            .goal(Measure::IdleCommits, dialect),
        Figure::new("statements", Unit::PerSecond, told(alone.statements)),
        Figure::new("cores to a replica", Unit::Count, told(rounds.cpu)).goal(Measure::IdleCpu, dialect),
        Figure::new("peak memory of a replica", Unit::Bytes, told(rounds.memory)),
    ])
}

/// Starts `count` replicas, waits for the time `first`, and then measures their usage for some terms.
async fn watch(bench: &mut Bench<'_>, count: usize, first: Duration, rounds: &mut Rounds) -> anyhow::Result<()> {
    let config = &bench.grounds.config;
    let site = bench.grounds.site().await?;
    let manner = Manner { replicas: count, ..Manner::plain(bench.plan.in_flight) };
    let mut replicas = Replicas::start(bench.grounds, &site, &manner).await?;
    replicas.addresses().await?;
    tokio::time::sleep(first).await;
    let mut commands = RedisCommands::of(config).await;
    let (usage, counters, calls) = (replicas.usage(), Counters::of(&site.database).await, commands.count().await);
    let began = Instant::now();
    tokio::time::sleep(config.lease.term.mul_f64(TERMS * bench.plan.scale)).await;
    let (usage_after, calls_after) = (replicas.usage(), commands.count().await);
    let seconds = began.elapsed().as_secs_f64();
    let spent = Counters::of(&site.database).await.since(counters, seconds);
    replicas.check()?;
    let cpu = usage_after.cpu_micros.zip(usage.cpu_micros).map(|(after, before)| after - before);
    rounds.cpu.extend(cpu.map(|micros| micros / 1e6 / seconds / float(count)));
    rounds.commands.extend(calls_after.zip(calls).map(|(after, before)| (after - before) / seconds));
    rounds.commits.extend(spent.commits);
    rounds.statements.extend(spent.statements);
    rounds.memory.extend(usage_after.peak_bytes);
    replicas.stop().await?;
    bench.grounds.remove(site).await
}

/// The Redis commands a second that the settings imply. A follower campaigns with one command per campaign interval and
/// half of its jitter. The poller renews by a script of four commands, three times per ttl. At the end of a term the
/// poller releases the lease, all replicas campaign at once, and the next poller asks and tells what was seen of the database.
fn implied_commands(config: &Config, replicas: usize) -> f64 {
    let followers = float(replicas) - 1.0;
    let campaigns = followers / (campaign_interval(config.lease.ttl).as_secs_f64() * 1.15);
    let renewals = 4.0 * 3.0 / config.lease.ttl.as_secs_f64();
    campaigns + renewals + (followers + 9.0) / config.lease.term.as_secs_f64()
}

/// The commits a second that the settings imply. The poller polls, and reads the pauses that operators set. A term
/// takes eleven transactions to begin, to say what it runs by, to settle the claims of earlier terms, and to end. Its first
/// polls follow each other closely. A replica writes its row twice a minute, and asks three times per ttl which server
/// answers.
fn implied_commits(config: &Config) -> f64 {
    let polls_and_looks = 1.0 / config.dispatch.poll_interval.as_secs_f64() + 1.0 / LISTEN.as_secs_f64();
    polls_and_looks
        + 16.0 / config.lease.term.as_secs_f64()
        + 1.0 / EACH.as_secs_f64()
        + 3.0 / config.lease.ttl.as_secs_f64()
}
