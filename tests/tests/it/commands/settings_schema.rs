//! `outbox config schema`, judged by a package of the kind that editors use.

use std::path::{Path, PathBuf};

use outbox_tests::python::judged_by;
use serde_json::{Value, json};

use crate::program::Program;

/// What is wrong with each of these files, by the schema.
async fn wrong(program: &Program, files: &[String]) -> Vec<Option<String>> {
    let schema = program.run(&["config", "schema"]).await.json();
    let answer = judged_by("settings.py", &json!({ "schema": schema, "files": files })).await;
    answer.as_array().unwrap().iter().map(|wrong| wrong.as_str().map(str::to_owned)).collect()
}

/// The settings files that our pages show.
fn shown() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let docs = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages: Vec<PathBuf> = docs.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    let mut files = Vec::new();
    for page in pages.into_iter().chain([root.join("README.md")]) {
        let text = std::fs::read_to_string(page).unwrap();
        let blocks = text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
        files.extend(blocks.map(str::to_owned));
    }
    files
}

#[tokio::test]
async fn the_schema_takes_what_the_pages_show_and_every_default() {
    let program =
        Program::new("sqlite://outbox.db", "[channels.hook]\nkind = \"http\"\n[channels.push]\nkind = \"fcm\"");
    let mut files = shown();
    assert!(files.len() > 5, "{files:?}");
    files.push(program.run(&["config", "show", "--set", "channels.push.project_id=shop"]).await.done());
    files.push(String::new());
    for (file, wrong) in files.iter().zip(wrong(&program, &files).await) {
        assert_eq!(wrong, None, "{file}");
    }
}

#[tokio::test]
async fn the_schema_refuses_what_the_program_refuses() {
    let program = Program::new("sqlite://outbox.db", "");
    let hook = |line: &str| format!("[channels.hook]\nkind = \"http\"\n{line}\n");
    let files = [
        "[lease]\nttls = \"10s\"".to_owned(),
        "[lease]\nttl = 10".to_owned(),
        "[dispatch]\nmax_in_flight = 0".to_owned(),
        "[leases]\nttl = \"10s\"".to_owned(),
        "[channels.hook]".to_owned(),
        "[channels.Hook]\nkind = \"http\"".to_owned(),
        hook("kind_of = 1"),
        hook("method = \"GET\""),
        hook("project_id = \"shop\""),
        hook("targets = \"urls\""),
        hook("https_only = \"yes\""),
        hook("ports = [0]"),
        hook("deny_networks = 8"),
        hook("headers = { X-A = 1 }"),
        hook("auth = { bearer = { vault = \"a\" } }"),
        hook("auth = { basic = { user = \"a\" } }"),
        hook("signing_keys = [{ env = 1 }]"),
    ];
    for (file, wrong) in files.iter().zip(wrong(&program, &files).await) {
        program.write("outbox.toml", file);
        let refused: Value = program.run(&["config", "show"]).await.misused().into();
        assert!(wrong.is_some(), "{file}\nis refused by the program: {refused}");
    }
}
