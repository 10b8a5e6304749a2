//! `outbox completions`, in a real shell.

use std::path::Path;
use std::process::Command;

use outbox_tests::outbox_binary;

use crate::outboxes;
use crate::program::{HTTP, Program};

/// What bash offers for the last of these words, with this environment and nothing else.
fn offered(program: &Program, script: &str, words: &[&str]) -> Vec<String> {
    let ask = format!(
        "{script}\nCOMP_WORDS=({})\nCOMP_CWORD={}\nCOMP_TYPE=9\n\
         _clap_complete_outbox outbox \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"",
        words.join(" "),
        words.len() - 1
    );
    let programs = outbox_binary().parent().map(Path::to_path_buf).unwrap();
    let mut shell = Command::new("bash");
    shell.env_clear().env("PATH", format!("{}:/usr/bin:/bin", programs.display()));
    shell.env("OUTBOX_DATABASE__URL", program.database()).current_dir(program.path(""));
    let shell = shell.args(["--norc", "-c", &ask]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&shell.stderr), "", "nobody who types wants to read this");
    String::from_utf8(shell.stdout).unwrap().lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[tokio::test]
async fn a_shell_completes_commands_options_and_nothing_that_is_hidden() {
    let program = Program::new("sqlite://outbox.db", "");
    let script = program.run(&["completions", "bash"]).await.done();
    let offered = |words: &[&str]| offered(&program, &script, words);
    assert_eq!(offered(&["outbox", "dead"]), ["dead-letters"]);
    assert_eq!(offered(&["outbox", "ben"]), ["bench"]);
    assert_eq!(offered(&["outbox", "dead-letters", "red"]), ["redrive"]);
    assert_eq!(offered(&["outbox", "run", "--until"]), ["--until-empty"]);
    assert_eq!(offered(&["outbox", "messages", "list", "--status", "''"]), ["pending", "success", "dead"]);
    let reasons = offered(&["outbox", "dead-letters", "redrive", "--reason", "''"]);
    assert_eq!(reasons, ["permanent", "exhausted", "expired", "in_doubt", "cancelled"]);
    let of_migrate = offered(&["outbox", "migrate", "--"]);
    assert!(
        of_migrate.contains(&"--database".to_owned()) && !of_migrate.contains(&"--url".to_owned()),
        "{of_migrate:?}"
    );
    assert!(offered(&["outbox", "status", "--"]).contains(&"--url".to_owned()));
    assert!(!program.path("outbox.db").exists(), "who completes a line makes no database");
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let script = program.run(&["completions", shell]).await.done();
        assert!(script.contains("_OUTBOX_COMPLETE") && !script.contains("bench-part"), "{shell}");
    }
}

#[tokio::test]
async fn a_shell_completes_channels_fingerprints_and_settings_and_says_nothing_where_it_cannot_know() {
    for outbox in outboxes::each().await {
        let now = match outbox.dialect() {
            outbox_store::Dialect::Postgres => "now()",
            outbox_store::Dialect::MySql => "UTC_TIMESTAMP(6)",
            outbox_store::Dialect::Sqlite => "1764000000000",
        };
        let dead = format!("'{{}}', 'DEAD', 'permanent', 1, {now}");
        outbox
            .sql(&format!(
                "INSERT INTO outbox (channel, target, payload, status, dead_reason, revision, finished_at) \
                 VALUES ('mail', 'x', {dead}), ('$(id)', 'x', {dead})"
            ))
            .await;
        let program = Program::new(&outbox.test.url, &format!("[channels.orders]\nkind = \"http\"\n{HTTP}"));
        let script = program.run(&["completions", "bash"]).await.done();
        let offered = |words: &[&str]| offered(&program, &script, words);
        assert_eq!(offered(&["outbox", "messages", "list", "--channel", "''"]), ["http", "mail", "orders"]);
        assert_eq!(offered(&["outbox", "destinations", "pause", "or"]), ["orders"]);
        assert_eq!(offered(&["outbox", "dead-letters", "redrive", "--fingerprint", "m"]), ["mail/permanent/-/-"]);
        assert_eq!(offered(&["outbox", "--set", "lease.tt"]), ["lease.ttl="]);
        let of_channel = offered(&["outbox", "check", "--set", "channels.orders.base_"]);
        assert_eq!(of_channel, ["channels.orders.base_url="]);

        program.set("[channels.orders]\nkind = \"smoke signals\"\n");
        assert_eq!(offered(&["outbox", "messages", "list", "--channel", "''"]), Vec::<String>::new());
        assert_eq!(offered(&["outbox", "--set", "lease.tt"]), ["lease.ttl="]);
    }
    let nowhere = Program::new("postgres://nobody@127.0.0.1:1/nothing?sslmode=disable", HTTP);
    let script = nowhere.run(&["completions", "bash"]).await.done();
    assert_eq!(offered(&nowhere, &script, &["outbox", "messages", "list", "--channel", "''"]), ["http"]);
    assert_eq!(
        offered(&nowhere, &script, &["outbox", "dead-letters", "list", "--fingerprint", "''"]),
        Vec::<String>::new()
    );
}
