//! The default of `database.url` is for whoever has set nothing; and who only looks makes no database.

use outbox_tests::servers;
use tokio::process::Command;

use crate::program::{HTTP, Program};

/// A program whose `database.url` is not set.
fn unset(program: &Program, arguments: &[&str]) -> Command {
    let mut command = program.command(arguments);
    command.env_remove("OUTBOX_DATABASE__URL").env("OUTBOX_ADMIN__LISTEN", "127.0.0.1:0");
    command
}

/// The exit status and what was written.
async fn end(mut command: Command) -> (Option<i32>, String) {
    let output = command.output().await.unwrap();
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    (output.status.code(), said.concat())
}

#[tokio::test]
async fn a_replica_that_has_lost_the_url_of_its_database_does_not_run_on_an_empty_file() {
    let program = Program::new("", HTTP);
    let lost = |arguments: &[&str]| unset(&program, arguments);
    for arguments in [&["run", "--until-empty"][..], &["check"], &["migrate"], &["migrate", "--print"], &["status"]] {
        let (code, said) = end(lost(arguments)).await;
        assert_eq!(code, Some(2), "{arguments:?}: {said}");
        for words in ["database.url is not set", "there is a settings file (outbox.toml)", "OUTBOX_DATABASE__URL"] {
            assert!(said.contains(words), "{arguments:?}: {words} is missing from {said}");
        }
    }
    std::fs::remove_file(program.path("outbox.toml")).unwrap();
    for (name, value) in [("OUTBOX_LEASE__URL", "redis://127.0.0.1:1"), ("OUTBOX_DATABASE__ENVIRONMENT", "production")]
    {
        let mut command = lost(&["run", "--until-empty"]);
        command.env(name, value);
        let (code, said) = end(command).await;
        assert!(code == Some(2) && said.contains(name), "{name}: {said}");
    }
    assert!(!program.path("outbox.db").exists());
}

#[tokio::test]
async fn what_asks_a_replica_or_shows_settings_needs_no_database() {
    let program = Program::new("", HTTP);
    let (code, said) = end(unset(&program, &["config", "show"])).await;
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = end(unset(&program, &["status", "--url", "http://127.0.0.1:1"])).await;
    assert!(code == Some(1) && !said.contains("database.url"), "{said}");
}

#[tokio::test]
async fn with_nothing_set_a_first_try_runs_and_is_told_where_its_messages_are() {
    let program = Program::new("", "");
    std::fs::remove_file(program.path("outbox.toml")).unwrap();
    let (code, said) = end(unset(&program, &["run", "--until-empty"])).await;
    assert_eq!(code, Some(0), "{said}");
    let warned = said.lines().find(|line| line.contains("run.default_database")).unwrap_or_else(|| panic!("{said}"));
    assert!(warned.contains("WARN") && warned.contains("outbox.db"), "{warned}");
    assert!(program.path("outbox.db").exists());
    // Who says so is not warned.
    let mut command = unset(&program, &["run", "--until-empty"]);
    command.env("OUTBOX_DATABASE__URL", "sqlite://outbox.db");
    let (_, said) = end(command).await;
    assert!(!said.contains("run.default_database"), "{said}");
}

#[tokio::test]
async fn commands_that_look_make_no_database() {
    let program = Program::new("sqlite://nothing-here.db", HTTP);
    let here = program.path("nothing-here.db");
    for arguments in [
        &["status"][..],
        &["messages", "list"],
        &["messages", "show", "1"],
        &["dead-letters", "list"],
        &["ordering-keys", "list", "--halted"],
        &["destinations", "list"],
        &["invalid-targets", "list"],
        &["prune", "--dry-run"],
        &["enqueue", "--channel", "http", "--target", "http://127.0.0.1/", "--payload", "1"],
    ] {
        let error = program.run(arguments).await.failed();
        let told =
            error.contains("there is no database file /") && error.contains("/nothing-here.db: `outbox migrate`");
        assert!(told, "{arguments:?}: {error}");
        assert!(error.contains("database.url is sqlite://nothing-here.db"), "{arguments:?}: {error}");
    }
    let checked = program.run(&["check"]).await;
    assert!(checked.code == Some(1) && checked.stdout.contains("there is no database file"), "{checked:?}");
    assert!(!here.exists());
    program.run(&["migrate"]).await.done();
    assert!(here.exists());
    program.run(&["status"]).await.done();
}

#[tokio::test]
async fn a_misspelt_parameter_of_a_url_is_refused_before_anything_connects() {
    for (name, url, meant) in [
        ("database.url", "mysql://me@127.0.0.1:1/shop?sslMode=VERIFY_IDENTITY", "did you mean ssl-mode?"),
        ("database.url", "mysql://me@127.0.0.1:1/shop?useSSL=true", "write ssl-mode=VERIFY_IDENTITY"),
        ("database.url", "postgres://me@127.0.0.1:1/shop?sslrotcert=/ca.pem", "did you mean sslrootcert?"),
        ("lease.url", "redis://127.0.0.1:1?ssl=true", "rediss://"),
        ("lease.url", "redis+sentinel://127.0.0.1:1/x?sentinel_pasword=s3cret", "did you mean sentinel_password?"),
    ] {
        let program = Program::new(&servers::sqlite().url, HTTP);
        for command in ["check", "run"] {
            let error = program.run(&[command, "--set", &format!("{name}={url}")]).await.misused();
            assert!(error.contains(meant) && !error.contains("s3cret"), "{url}: {error}");
        }
    }
}

#[tokio::test]
async fn a_database_file_in_a_folder_where_no_file_can_be_made_is_named_with_its_folder_and_what_to_do() {
    // Not even root makes a file in /sys.
    for folder in ["/sys", "/sys/no-such-folder"] {
        let program = Program::new(&format!("sqlite://{folder}/outbox.db"), HTTP);
        for command in ["migrate", "run"] {
            let error = program.run(&[command]).await;
            let said = &error.stderr;
            assert_eq!(error.code, Some(1), "{said}");
            assert!(said.contains(&format!("cannot open the database file {folder}/outbox.db")), "{said}");
            assert!(said.contains(&format!("no file can be made in its folder, {folder} (")), "{said}");
            assert!(said.contains("let this user write to it, or name another file in database.url"), "{said}");
        }
    }
}
