//! Which rights the user of the lease lacks: each command that the lease and the hints use is tried, on a key and a channel that
//! nothing else uses.

use redis::{Cmd, ErrorKind, RedisError, RedisResult, ServerErrorKind, cmd};

use super::primary::Primary;
use super::releases::subscribe;

/// How long the key of a trial lasts, should it not be removed.
const LASTS_MS: u64 = 5_000;

/// A script that asks for nothing.
const SCRIPT: &str = "return 1";

/// What is tried, and the rule that allows the command itself.
struct Trial {
    rule: &'static str,
    command: Cmd,
}

/// The rules that the ACL of the user lacks, each as `ACL SETUSER` takes it.
///
/// # Errors
/// The server did not answer, or not for want of a right.
pub(super) async fn missing(primary: &Primary, outbox_id: &str, has_sentinels: bool) -> RedisResult<Vec<String>> {
    // A name that another process uses at the same time does no harm.
    let name = format!("outbox:{{{outbox_id}}}:trial:{}", std::process::id());
    let mut connection = primary.connect().await?;
    let mut missing = Vec::new();
    for Trial { rule, command } in trials(&name, has_sentinels) {
        let tried = command.query_async::<redis::Value>(&mut connection).await.map(drop);
        note(tried, rule, &name, &mut missing)?;
    }
    note(subscribe(primary, &name).await.map(drop), "+subscribe", &name, &mut missing)?;
    Ok(missing)
}

fn trials(name: &str, has_sentinels: bool) -> Vec<Trial> {
    let mut trials = Vec::new();
    let mut add = |rule, command: &mut Cmd| trials.push(Trial { rule, command: command.clone() });
    add("+set", cmd("SET").arg(name).arg("1").arg("NX").arg("PX").arg(LASTS_MS));
    add("+get", cmd("GET").arg(name));
    add("+pttl", cmd("PTTL").arg(name));
    add("+pexpire", cmd("PEXPIRE").arg(name).arg(LASTS_MS));
    add("+script|load", cmd("SCRIPT").arg("LOAD").arg(SCRIPT));
    add("+evalsha", cmd("EVALSHA").arg(redis::Script::new(SCRIPT).get_hash()).arg(1).arg(name));
    add("+publish", cmd("PUBLISH").arg(name).arg(""));
    if has_sentinels {
        add("+role", &mut cmd("ROLE"));
    }
    add("+del", cmd("DEL").arg(name));
    // Last: in a transaction that cannot be ended nothing else is tried.
    add("+multi", &mut cmd("MULTI"));
    add("+exec", &mut cmd("EXEC"));
    trials
}

/// Takes note of the rule that a refusal asks for. What else an answer says is no matter of rights: a script that could not be loaded
/// is not there, and no transaction goes on that could not begin.
fn note(tried: RedisResult<()>, rule: &str, name: &str, missing: &mut Vec<String>) -> RedisResult<()> {
    let Err(error) = tried else { return Ok(()) };
    match error.kind() {
        ErrorKind::Server(ServerErrorKind::NoPerm) => {
            let rule = asked_for(&error, rule, name);
            if !missing.contains(&rule) {
                missing.push(rule);
            }
            Ok(())
        }
        ErrorKind::Server(_) | ErrorKind::Extension => Ok(()),
        _ => Err(error),
    }
}

/// Redis says whether it is the command, the key or the channel: "… to access a channel", "… one of the keys used as arguments".
fn asked_for(error: &RedisError, rule: &str, name: &str) -> String {
    let words = error.detail().unwrap_or_default();
    let outbox = name.split(':').next().unwrap_or_default();
    if !words.contains("access") {
        rule.to_owned()
    } else if words.contains("channel") {
        format!("&{outbox}:*")
    } else {
        format!("~{outbox}:*")
    }
}
