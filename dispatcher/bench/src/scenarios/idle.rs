//! What a fleet takes that has nothing to do, beside what its settings imply.

use std::time::{Duration, Instant};

use crate::counters::Counters;
use crate::measure::Bench;
use crate::number::{float, median};
use crate::redis_commands::RedisCommands;
use crate::replicas::{Manner, Replicas};
use crate::report::{Figure, Unit};
use crate::say;
use crate::scenario::Measure;
use outbox_dispatcher::config::Config;
use outbox_dispatcher::destinations::LISTEN;
use outbox_dispatcher::term::leadership::campaign_interval;

/// Replicas.
const REPLICAS: usize = 50;

/// Watched for so many terms, so that hand-overs are among what is counted, in due proportion.
const TERMS: f64 = 2.0;

/// Wait for what a fleet does once, when it starts: PostgreSQL counts what a connection did up to ten seconds later.
const SETTLE: Duration = Duration::from_secs(12);

/// Whoever polls for the first time prepares its statements, each a transaction to PostgreSQL, and looks for what is old. How many
/// others wait for their turn is all the same to the database, so its count is also taken of one alone, after so many terms.
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
    for number in 1..=bench.plan.rounds {
        watch(bench, replicas, SETTLE.mul_f64(bench.plan.scale.min(1.0)), &mut rounds).await?;
        watch(bench, 1, turns, &mut alone).await?;
        say(&format!("idle, round {number} with {replicas} replicas"));
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

/// Starts so many replicas, and counts for some terms what they take, but for what they take at first.
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

/// Followers campaign with one command per campaign interval and half of its jitter; the poller renews by a script of
/// three commands, thrice per ttl; and at the end of a term there is the release, and all campaign at once.
fn implied_commands(config: &Config, replicas: usize) -> f64 {
    let followers = float(replicas) - 1.0;
    let campaigns = followers / (campaign_interval(config.lease.ttl).as_secs_f64() * 1.15);
    let renewals = 3.0 * 3.0 / config.lease.ttl.as_secs_f64();
    campaigns + renewals + (followers + 5.0) / config.lease.term.as_secs_f64()
}

/// The poller polls, and reads what people paused; a term is begun, settles what earlier ones left and is ended by ten
/// transactions, and its first polls follow each other closely.
fn implied_commits(config: &Config) -> f64 {
    let polls_and_looks = 1.0 / config.dispatch.poll_interval.as_secs_f64() + 1.0 / LISTEN.as_secs_f64();
    polls_and_looks + 15.0 / config.lease.term.as_secs_f64()
}
