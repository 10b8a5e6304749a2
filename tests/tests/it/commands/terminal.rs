//! What the program prints on a terminal of 80 and of 120 columns, and that a pipe gets it whole.

use outbox_tests::servers;

use crate::commands::command_line::small;
use crate::program::{HTTP, Leave, Program};
use crate::sink::Sink;

/// The widths that are tried.
const WIDTHS: [u16; 2] = [80, 120];

/// The characters of a text without colours.
fn without_colours(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| plain + part.split_once('m').unwrap().1)
}

/// The words of a text, but for those with a digit: spans differ from one moment to the next.
fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().filter(|word| !word.contains(|c: char| c.is_ascii_digit())).collect()
}

/// What a terminal shows of a command, after its lines were found to fit.
async fn fitting(program: &Program, columns: u16, arguments: &[&str]) -> String {
    let shown = without_colours(&program.on_terminal(columns, arguments, &[]).await);
    for line in shown.lines() {
        let width = line.chars().count();
        assert!(width <= columns.into(), "{arguments:?} prints {width} columns on {columns}: {line}\n{shown}");
    }
    assert!(!shown.trim().is_empty(), "{arguments:?} printed nothing");
    shown
}

/// An outbox with a delivered message, dead letters with long targets and errors, and one message that waits.
async fn stage() -> (Program, Sink) {
    let (program, sink) = (small().await, Sink::start().await);
    let long = format!("{}?{}", sink.url("/garbage"), "order=1234567&".repeat(12));
    let closed = "http://127.0.0.1:9/a/path/that/is/long/enough/to/be/clipped/on/a/narrow/terminal";
    let retried = format!("{HTTP}max_attempts = 1\n");
    program.set(&retried);
    for (key, target) in [("dead-1", long.as_str()), ("dead-2", closed), ("fine", &sink.url("/"))] {
        let payload = format!(r#"{{"text":"{}"}}"#, "a word and another ".repeat(20));
        program
            .run(&["enqueue", "--channel", "http", "--target", target, "--payload", &payload, "--idempotency-key", key])
            .await
            .done();
    }
    program.deliver().await;
    let late = ["--target", closed, "--payload", "{}", "--idempotency-key", "late", "--delay", "1h"];
    program.run(&[&["enqueue", "--channel", "http"][..], &late].concat()).await.done();
    program.run(&["destinations", "pause", closed, "--why", &"it is being moved ".repeat(12)]).await.done();
    (program, sink)
}

#[tokio::test]
async fn no_line_is_wider_than_the_terminal() {
    let (program, _sink) = stage().await;
    for columns in WIDTHS {
        for arguments in [
            &["status"] as &[&str],
            &["replicas"],
            &["audit", "list"],
            &["check"],
            &["check", "--strict"],
            &["messages", "list"],
            &["messages", "show", "dead-1"],
            &["messages", "show", "fine"],
            &["messages", "explain", "dead-1"],
            &["messages", "explain", "late"],
            &["messages", "list", "--channel", "nothing"],
            &["dead-letters", "list"],
            &["dead-letters", "list", "--ungrouped"],
            &["dead-letters", "show", "dead-2"],
            &["dead-letters", "redrive", "--all", "--dry-run"],
            &["ordering-keys", "list", "--halted"],
            &["destinations", "list"],
            &["destinations", "list", "--all"],
            &["invalid-targets", "list"],
            &["prune", "--dry-run"],
            &["migrate"],
            &["status", "--database", "oracle://db"],
            &["messages", "show", "no-such-message"],
        ] {
            fitting(&program, columns, arguments).await;
        }
    }
}

#[tokio::test]
async fn a_narrow_terminal_shows_the_errors_of_a_list_whole() {
    let (program, _sink) = stage().await;
    let dead = program.run(&["messages", "show", "dead-2", "--json"]).await.json();
    let error = dead["last_error"].as_str().unwrap();
    assert!(error.len() > 40, "{error}");
    for list in [&["messages", "list"] as &[&str], &["dead-letters", "list", "--ungrouped"]] {
        let shown = fitting(&program, 80, list).await;
        let flowing = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flowing.contains(error), "{list:?}: {error} is not in {shown}");
    }
}

#[tokio::test]
async fn prose_is_wrapped_between_words() {
    let (program, _sink) = stage().await;
    for columns in WIDTHS {
        for arguments in [
            &["messages", "explain", "late"] as &[&str],
            &["messages", "explain", "dead-2"],
            &["destinations", "--help"],
            &["dead-letters", "edit", "--help"],
        ] {
            let shown = fitting(&program, columns, arguments).await;
            let piped = program.run(arguments).await;
            assert_eq!(words(&shown), words(&piped.stdout), "{arguments:?} on {columns}: {shown}");
        }
    }
}

/// The subcommands that a help names.
fn subcommands(help: &str) -> Vec<String> {
    let listed = help.split("Commands:\n").nth(1).unwrap_or_default();
    let lines = listed.lines().take_while(|line| !line.is_empty());
    let named = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    named.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[tokio::test]
async fn the_help_of_every_command_fits() {
    let program = Program::new(&servers::sqlite().url, "");
    let mut left = vec![Vec::new()];
    let mut read = 0;
    while let Some(command) = left.pop() {
        let arguments: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        for columns in WIDTHS {
            let help = fitting(&program, columns, &arguments).await;
            if columns == WIDTHS[0] && command.first().is_none_or(|first| first != "help") {
                let deeper = subcommands(&help).into_iter().filter(|name| name != "help");
                left.extend(deeper.map(|name| [&command[..], &[name]].concat()));
            }
        }
        read += 1;
    }
    assert!(read > 25, "{read} helps were read");
}

#[tokio::test]
async fn a_terminal_gets_colours_and_relative_times_and_a_pipe_neither() {
    let (program, _sink) = stage().await;
    let list = ["dead-letters", "list", "--ungrouped"];
    let shown = program.on_terminal(120, &list, &[]).await;
    assert!(shown.contains("\u{1b}[31m") && shown.contains(" s ago"), "{shown}");
    assert!(shown.contains('…'), "{shown}");
    let plain = program.on_terminal(120, &list, &[("NO_COLOR", "1")]).await;
    assert_eq!(without_colours(&shown).replace(char::is_numeric, ""), plain.replace(char::is_numeric, ""));
    let piped = program.run(&list).await.done();
    assert!(!piped.contains('\u{1b}') && !piped.contains(" ago"), "{piped}");
    assert!(piped.lines().any(|line| line.chars().count() > 120), "{piped}");
    let json = ["dead-letters", "list", "--ungrouped", "--json"];
    assert_eq!(program.on_terminal(80, &json, &[]).await, program.run(&json).await.done());
}

#[tokio::test]
async fn top_shows_channels_and_what_fails_by_the_database_and_by_a_replica_until_the_operator_leaves() {
    let (program, _sink) = stage().await;
    let mut replica = program.start();
    let listener = replica.listener().await;
    let by_replica = ["top", "--url", &listener];
    for (arguments, leave) in [
        (&["top"] as &[&str], Leave::Key(b'q')),
        (&by_replica, Leave::Key(b'q')),
        (&["top"], Leave::Key(3)), // Ctrl-C
        (&["top"], Leave::Terminate),
    ] {
        let shown = program.leaving("connect", arguments, leave).await;
        // Spaces that are there already are not written.
        for part in ["Channels", "http", "moved", "fails", "exhausted", "127.0.0.1:9/a"] {
            assert!(shown.contains(part), "{arguments:?}: {part} is not in {shown}");
        }
        // The screen of before is left alone, and is back.
        let (begun, ended) = (shown.find("\u{1b}[?1049h"), shown.rfind("\u{1b}[?1049l"));
        assert!(begun.is_some() && begun < ended, "{shown}");
    }
}

#[tokio::test]
async fn what_nothing_takes_back_is_asked_about_on_a_terminal() {
    let (program, _sink) = stage().await;
    let removed = program.leaving("[y/N]", &["prune", "--success", "1ms"], Leave::Line("y\n")).await;
    assert!(
        removed.contains("1 delivered message and 0 dead letters would be removed for good: remove them?"),
        "{removed}"
    );
    assert!(removed.contains("1 delivered message and 0 dead letters removed"), "{removed}");
    let asked = program.leaving("removed", &["prune", "--dead", "1ms", "--yes"], Leave::Line("")).await;
    assert!(!asked.contains("[y/N]"), "{asked}");
}

#[tokio::test]
async fn a_list_by_the_beginning_of_a_key_shows_keys_and_one_by_a_device_finds_its_other_spelling() {
    let (program, _sink) = stage().await;
    let keys = fitting(&program, 80, &["messages", "list", "--key-prefix", "dead-"]).await;
    assert!(keys.contains("dead-1") && keys.contains("dead-2") && keys.contains(" KEY "), "{keys}");
    let push = ["enqueue", "--channel", "http", "--target", "token:phone", "--payload", "{}", "--force"];
    program.run(&push).await.done();
    let bare = program.run(&["messages", "list", "--target", "phone"]).await;
    assert!(bare.stderr.contains("did you mean token:phone?"), "{bare:?}");
}

#[tokio::test]
async fn top_says_why_it_shows_nothing() {
    let program = Program::new(&servers::sqlite().url, HTTP);
    let refused = program.run(&["top"]).await.misused();
    assert!(refused.contains("top needs a terminal") && refused.contains("`outbox status`"), "{refused}");
    // Where the outbox cannot be asked at all, the screen is not touched.
    let failed = program.on_terminal(120, &["top"], &[]).await;
    assert!(failed.contains("`outbox migrate`") && !failed.contains("\u{1b}[?1049h"), "{failed}");
}
