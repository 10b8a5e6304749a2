//! `outbox completions`, in a real shell.

use std::process::Command;

use crate::program::Program;

/// What bash offers for the last of these words.
fn offered(script: &str, words: &[&str]) -> Vec<String> {
    let ask = format!(
        "{script}\nCOMP_WORDS=({})\nCOMP_CWORD={}\n_outbox outbox \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        words.join(" "),
        words.len() - 1
    );
    let shell = Command::new("bash").args(["--norc", "-c", &ask]).output().unwrap();
    assert!(shell.status.success(), "{}", String::from_utf8_lossy(&shell.stderr));
    String::from_utf8(shell.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_shell_completes_commands_options_and_nothing_that_is_hidden() {
    let program = Program::new("sqlite://outbox.db", "");
    let script = program.run(&["completions", "bash"]).await.done();
    assert_eq!(offered(&script, &["outbox", "dead"]), ["dead-letters"]);
    assert_eq!(offered(&script, &["outbox", "ben"]), ["bench"]);
    assert_eq!(offered(&script, &["outbox", "dead-letters", "red"]), ["redrive"]);
    assert_eq!(offered(&script, &["outbox", "run", "--until"]), ["--until-empty"]);
    assert_eq!(offered(&script, &["outbox", "messages", "list", "--status", "''"]), ["pending", "success", "dead"]);
    let reasons = offered(&script, &["outbox", "dead-letters", "redrive", "--reason", "''"]);
    assert_eq!(reasons, ["permanent", "exhausted", "expired", "in_doubt", "cancelled"]);
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let script = program.run(&["completions", shell]).await.done();
        assert!(script.contains("redrive") && !script.contains("bench-part"), "{shell}");
    }
}
