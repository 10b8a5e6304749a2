//! The admin API of a running replica, and the command line that asks it instead of the database.

use outbox_store::Dialect;
use outbox_tests::{eventually, servers};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::outboxes::{self, Outbox};
use crate::program::{HTTP, PATIENCE, Program, Replica};
use crate::sink::Sink;

const TOKENS: &str = "token = \"s3cret-operate\"\nread_token = \"s3cret-read\"\n";

/// A replica at work on an outbox with dead letters.
struct Stage {
    program: Program,
    replica: Replica,
    url: String,
    sink: Sink,
}

impl Stage {
    async fn begin(outbox: &Outbox, dead: &[&str]) -> Self {
        let sink = Sink::start().await;
        // `[admin]` is the section that the settings begin with.
        let program = Program::new(&outbox.test.url, &format!("{TOKENS}{HTTP}"));
        let mut replica = program.start();
        let url = replica.listener().await;
        for key in dead {
            enqueue(&program, key, &sink.url("/garbage"), &["--tag", "order=1, 2", "--tag", "customer=7"]).await;
        }
        let all_dead = async || {
            let dead_now = outbox.number("SELECT count(*) FROM outbox WHERE status = 'DEAD'").await;
            (dead_now == i64::try_from(dead.len()).unwrap()).then_some(())
        };
        eventually("they are dead", PATIENCE, all_dead).await;
        Self { program, replica, url, sink }
    }

    /// The command by the replica.
    fn by_replica<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        [&["--url", &self.url], arguments].concat()
    }

    async fn ask(&self, method: &str, path: &str, token: &str, body: Option<&str>) -> (u16, String, Value) {
        outbox_adapters::ensure_crypto_provider();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let url = format!("{}/api/v1/{path}", self.url);
        let mut request =
            client.request(method.parse().unwrap(), url).bearer_auth(token).header("x-outbox-client", "1");
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_owned());
        }
        let answer = request.send().await.unwrap();
        let link = answer.headers().get("link").map_or("", |link| link.to_str().unwrap()).to_owned();
        (answer.status().as_u16(), link, serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap())
    }
}

async fn enqueue(program: &Program, key: &str, target: &str, more: &[&str]) {
    let arguments =
        ["enqueue", "--channel", "http", "--target", target, "--payload", "{\"n\": 1.50}", "--idempotency-key", key];
    // One of the keys is no header value, so its channel would make a dead letter of it.
    program.run(&[&arguments, more, &["--force"]].concat()).await.done();
}

#[tokio::test]
async fn the_command_line_says_the_same_by_a_replica_as_by_the_database() {
    for outbox in outboxes::each().await {
        let stage = Stage::begin(&outbox, &["a", "b/ä?&", "c"]).await;
        let first = outbox.number("SELECT min(id) FROM outbox").await.to_string();
        let gone =
            "INSERT INTO outbox_invalid_target (channel, target, reason) VALUES ('fcm', 'b/ä?&', 'UNREGISTERED')";
        outbox.sql(gone).await;
        outbox.sql("INSERT INTO outbox_invalid_target (channel, target) VALUES ('http', 'a')").await;
        let by_ada = ["--why", "they move", "--by", "ada"];
        let down = "https://down.example/a?b=c%20d";
        stage.program.run(&[&["destinations", "pause", down], &by_ada[..]].concat()).await.done();
        for question in [
            &["destinations", "list"] as &[&str],
            &["destinations", "list", "--all", "--json"],
            &["destinations", "resume", "https://nobody.example", "--json"],
            &["destinations", "resume", "HTTPS://nobody.example/x"],
            &["invalid-targets", "list"],
            &["invalid-targets", "list", "--limit", "1"],
            &["invalid-targets", "list", "--target", "b/ä?&", "--channel", "fcm", "--json"],
            &["invalid-targets", "clear", "--older-than", "1h", "--dry-run"],
            &["invalid-targets", "clear", "a", "b/ä?&", "--dry-run", "--json"],
            &["invalid-targets", "clear", "--channel", "nobody-s", "--yes"],
            &["messages", "show", &first],
            &["messages", "show", "b/ä?&", "--json"],
            &["messages", "show", "nobody"],
            &["messages", "explain", &first],
            &["messages", "explain", "b/ä?&"],
            &["messages", "explain", "4711"],
            &["messages", "list", "--status", "dead", "--since", "1h", "--limit", "2", "--json"],
            &["messages", "list", "--priority", "3"],
            &["messages", "list", "--key-prefix", "b/ä?&", "--json"],
            &["messages", "list", "--tag", "order=1, 2", "--tag", "customer=7", "--json"],
            &["messages", "list", "--tag", "order=1"],
            &["messages", "list", "--tenant", "nobody-s", "--target", "/"],
            &["dead-letters", "list", "--tag", "customer=7", "--key-prefix", "a", "--json"],
            &["dead-letters", "redrive", "--tag", "order=1, 2", "--dry-run"],
            &["prune", "--dry-run", "--success", "never", "--dead", "1h", "--json"],
            &["prune", "--dead", "30d"],
            &["dead-letters", "list"],
            &["dead-letters", "list", "--json", "--reason", "permanent", "--since", "1h", "--error-contains", "400"],
            &["dead-letters", "list", "--status-code", "500"],
            &["dead-letters", "list", "--ungrouped", "--limit", "2"],
            &["dead-letters", "list", "--ungrouped", "--json"],
            &["dead-letters", "redrive", &first, "4711", "--dry-run"],
            &["dead-letters", "purge", "--all", "--dry-run", "--json"],
            &["dead-letters", "redrive", "4711"],
            &["dead-letters", "undo", "4711"],
            &["dead-letters", "edit", &first, "--target", "/", "--drop-header", "X-None", "--yes"],
            &["messages", "cancel", &first],
            &["messages", "cancel", &first, "4711"],
            &["messages", "cancel", "--tag", "customer=7", "--dry-run"],
            &["messages", "cancel", "--channel", "htp"],
            &["messages", "retry", &first],
            &["messages", "replay", "--channel", "http", "--after", "1", "--dry-run"],
            &["messages", "retry", "--tag", "customer=7", "--dry-run", "--json"],
        ] {
            let by_database = stage.program.run(question).await;
            let by_replica = stage.program.run(&stage.by_replica(question)).await;
            assert_eq!(by_replica.stdout, by_database.stdout, "{question:?}");
            assert_eq!(by_replica.stderr, by_database.stderr, "{question:?}");
            assert_eq!(by_replica.code, by_database.code, "{question:?}");
        }
        let status = stage.program.run(&stage.by_replica(&["status", "--json"])).await.json();
        assert_eq!((&status["shards"][0]["state"], &status["channels"][0]["dead"]), (&"polled".into(), &3.into()));
        let healthy = stage.program.run(&stage.by_replica(&["health", "--ready"])).await.done();
        assert!(healthy.contains("\"ready\":true"), "{healthy}");
    }
}

#[tokio::test]
async fn dead_letters_are_mended_redriven_and_taken_back_by_a_replica() {
    for outbox in outboxes::each().await {
        let stage = Stage::begin(&outbox, &["a", "b", "c"]).await;
        let run = async |arguments: &[&str]| stage.program.run(&stage.by_replica(arguments)).await;
        let file = stage.program.write("payload.json", "{\"qty\": 1.0e2,  \"b\": null}");
        let target = stage.sink.url("/");
        let edit = ["dead-letters", "edit", "a", "--payload", &file, "--target", &target, "--header", "X-Tenant=8"];
        let edited = run(&[&edit[..], &["--yes", "--json", "--by", "ada", "--why", "a typo"]].concat()).await.json();
        let key = edited["new_key"].as_str().unwrap();
        let id = edited["id"].to_string();
        run(&["dead-letters", "redrive", &id, "--by", "ada"]).await.done();
        let delivered = async || stage.sink.keys().contains_key(key).then_some(());
        eventually("it is delivered", PATIENCE, delivered).await;
        let shown = run(&["messages", "show", &id, "--json"]).await.json();
        let parsed = |field: &str| serde_json::from_str::<Value>(shown[field].as_str().unwrap()).unwrap();
        assert_eq!(
            (parsed("headers"), parsed("payload")),
            (json!({ "X-Tenant": "8" }), json!({ "qty": parsed("payload")["qty"], "b": null }))
        );
        assert_eq!(parsed("payload")["qty"].as_f64(), Some(100.0));
        let (who, why) = (&shown["audit"][0]["who"], &shown["audit"][0]["why"]);
        assert_eq!((who, why), (&json!("ada (API)"), &json!("a typo")));

        let later = ["dead-letters", "redrive", "--all", "--rate", "1/s", "--canary", "2", "--json"];
        // The first comes due at once, and dies again: it is the second that is taken back.
        let redriven = run(&later).await.json();
        assert_eq!((&redriven["meant"], &redriven["redriven"]), (&2.into(), &2.into()));
        let undone = run(&["dead-letters", "undo", &redriven["audit_id"].to_string(), "--json"]).await.json();
        assert_eq!(undone["gone"], 0, "{undone}");
        let all_dead =
            async || (outbox.number("SELECT count(*) FROM outbox WHERE status = 'DEAD'").await == 2).then_some(());
        eventually("both are dead", PATIENCE, all_dead).await;
        run(&["dead-letters", "purge", "--all", "--yes"]).await.done();
        assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE status = 'DEAD'").await, 0);

        enqueue(&stage.program, "late", &target, &["--delay", "1h"]).await;
        let cancelled = run(&["messages", "cancel", "--key", "late"]).await.done();
        assert!(cancelled.ends_with("is cancelled\n"), "{cancelled}");
        enqueue(&stage.program, "later", &target, &["--delay", "1h"]).await;
        let would = run(&["messages", "cancel", "--key-prefix", "lat", "--dry-run", "--json"]).await.json();
        assert_eq!(would[0]["count"], 1, "{would}");
        let cancelled = run(&["messages", "cancel", "--key-prefix", "lat", "--json"]).await.json();
        assert_eq!((&cancelled["meant"], &cancelled["cancelled"]), (&1.into(), &1.into()));
    }
}

#[tokio::test]
async fn any_change_is_one_request_that_does_what_its_own_path_does_and_a_dry_run_of_it_changes_nothing() {
    for outbox in outboxes::each().await {
        let stage = Stage::begin(&outbox, &["a", "b"]).await;
        let post = async |path: &str, body: Value| {
            let (status, _, answer) = stage.ask("POST", path, "s3cret-operate", Some(&body.to_string())).await;
            (status, answer)
        };
        let all = json!({ "filter": {} });
        let later = json!({ "action": "redrive", "selection": all, "rate": 1, "author": { "by": "ada" } });
        let (status, groups) = post("dead-letters/groups", all.clone()).await;
        let dry = |body: &Value| {
            let mut body = body.clone();
            body["dry_run"] = true.into();
            body
        };
        assert_eq!(post("changes", dry(&later)).await, (status, groups));
        assert_eq!(outbox.number("SELECT count(*) FROM outbox_audit").await, 0);

        let (status, redriven) = post("changes", later).await;
        assert_eq!((status, &redriven["meant"], &redriven["redriven"]), (200, &2.into(), &2.into()), "{redriven}");
        let undo = json!({ "action": "undo", "operation": redriven["audit_id"] });
        let (status, refused) = post("changes", dry(&undo)).await;
        assert!(status == 400 && refused["detail"].as_str().unwrap().contains("an undo has no dry run"), "{refused}");
        let (status, undone) = post("changes", undo).await;
        assert_eq!((status, &undone["undone"]), (200, &"redrive".into()), "{undone}");
        let not_there = json!({ "action": "undo", "operation": 4_711 });
        assert_eq!(post("changes", not_there).await, post("redrives/4711/undo", json!({})).await);

        for (body, why) in [
            (json!({ "action": "explode", "selection": all }), "it must be one of `redrive`"),
            (json!({ "action": "purge", "selection": { "filter": { "chanel": "x" } } }), "unknown field `chanel`"),
            (json!({ "action": "purge", "selection": all, "canary": 1 }), "unknown field `canary`"),
            (json!({ "action": "cancel", "selection": all }), "every message that waits"),
            (json!({ "action": "purge", "selection": all, "dryrun": true }), "unknown field `dryrun`"),
        ] {
            let (status, refused) = post("changes", body).await;
            assert!((400..=422).contains(&status) && refused["detail"].as_str().unwrap().contains(why), "{refused}");
        }
        let purge = json!({ "action": "purge", "selection": all }).to_string();
        assert_eq!(stage.ask("POST", "changes", "s3cret-read", Some(&purge)).await.0, 403);
        assert_eq!(outbox.number("SELECT count(*) FROM outbox").await, 2);
    }
}

#[tokio::test]
async fn destinations_are_paused_and_targets_forgotten_by_a_replica() {
    for outbox in outboxes::each().await {
        let mut stage = Stage::begin(&outbox, &[]).await;
        let [target, origin] = [stage.sink.url("/a?b=c%20d"), stage.sink.url("")];
        let by_ada = ["--why", "they move", "--by", "ada", "--json"];
        let pause = ["destinations", "pause", &target, "--for", "2h 30m"];
        let pause = [&pause, &by_ada[..]].concat();
        let paused = stage.program.run(&stage.by_replica(&pause)).await.json();
        assert_eq!(paused["destination"], origin);
        stage.replica.says("destination.changed_by_hand").await;
        let run = async |arguments: &[&str]| stage.program.run(&stage.by_replica(arguments)).await;
        let listed = run(&["destinations", "list", "--json"]).await.json();
        assert_eq!((&listed[0]["by"], &listed[0]["reason"]), (&json!("ada (API)"), &json!("they move")));
        assert!((8_900_000..=9_000_000).contains(&listed[0]["remaining_ms"].as_i64().unwrap()), "{listed}");
        enqueue(&stage.program, "waits", &target, &[]).await;
        let aside = async || {
            let aside = outbox.number("SELECT count(*) FROM outbox WHERE deferred_from IS NOT NULL").await;
            (aside == 1).then_some(())
        };
        eventually("it waits", PATIENCE, aside).await;
        let resumed = run(&[&["destinations", "resume", &origin], &by_ada[..]].concat()).await.json();
        assert_eq!(resumed["brought_back"], 1, "{resumed}");
        eventually("it is delivered", PATIENCE, async || stage.sink.keys().contains_key("waits").then_some(())).await;

        let unknown = run(&["destinations", "pause", "htpp", "--why", "x"]).await.failed();
        assert!(unknown.contains("did you mean http?"), "{unknown}");
        let path = "destinations/http/pause";
        let (status, _, problem) = stage.ask("POST", path, "s3cret-operate", Some("{}")).await;
        assert!(status == 400 && problem["detail"].as_str().unwrap().contains("why"), "{problem}");
        let (status, ..) = stage.ask("POST", path, "s3cret-read", Some("{}")).await;
        assert_eq!(status, 403);
        let (path, all) = ("dead-letters/purge?dry_run=true", json!({"selection": {"filter": {}}}).to_string());
        let (status, _, problem) = stage.ask("POST", path, "s3cret-operate", Some(&all)).await;
        assert!(status == 400 && problem["detail"].as_str().unwrap().contains("no parameters"), "{problem}");

        outbox
            .sql("INSERT INTO outbox_invalid_target (channel, target) VALUES ('fcm', 'a'), ('fcm', 'b'), ('x', 'c')")
            .await;
        let (status, link, page) = stage.ask("GET", "invalid-targets?channel=fcm&limit=1", "s3cret-read", None).await;
        assert_eq!((status, &page["total"], &page["targets"][0]["target"]), (200, &json!(2), &json!("b")));
        assert!(link.contains("after="), "{link}");
        let (status, ..) = stage.ask("POST", "invalid-targets/clear", "s3cret-operate", Some("{}")).await;
        assert!(matches!(status, 400 | 422), "a selection is said: {status}");
        let cleared = run(&["invalid-targets", "clear", "a", "c", "--yes", "--why", "back"]).await.done();
        assert_eq!(cleared, "2 forgotten\n");
        assert_eq!(outbox.text("SELECT target FROM outbox_invalid_target").await, "b");
    }
}

#[tokio::test]
async fn pages_lead_to_each_other_and_what_is_refused_names_the_message() {
    let outbox = &outboxes::migrated().await[2];
    let stage = Stage::begin(outbox, &["a", "b", "c"]).await;
    let (mut next, mut keys) = ("dead-letters?reason=permanent&limit=2".to_owned(), Vec::new());
    loop {
        let (status, link, page) = stage.ask("GET", &next, "s3cret-read", None).await;
        assert_eq!(status, 200);
        keys.extend(page["letters"].as_array().unwrap().iter().map(|letter| letter["idempotency_key"].clone()));
        let Some(query) = link.strip_suffix(">; rel=\"next\"") else { break };
        next = format!("dead-letters{}", query.strip_prefix('<').unwrap());
        assert!(next.contains("reason=permanent") && next.contains("after="), "{next}");
    }
    keys.sort_by_key(ToString::to_string);
    assert_eq!(keys, ["a", "b", "c"]);

    let (status, _, problem) = stage.ask("POST", "messages/1/cancel", "s3cret-operate", Some("{}")).await;
    assert_eq!((status, &problem["type"]), (409, &json!("urn:outbox:problem:refused")));
    assert_eq!(problem["refused"], json!({ "id": 1, "because": "not_pending" }));
    let (status, _, problem) = stage.ask("POST", "messages/1/retry", "s3cret-operate", Some("{}")).await;
    assert_eq!((status, &problem["refused"]["because"]), (409, &json!("not_pending")));
    let (status, _, problem) = stage.ask("POST", "messages/9/redrive", "s3cret-operate", Some("{}")).await;
    assert_eq!((status, &problem["detail"]), (404, &json!("message 9: there is no such message")));
    let old = r#"{"revision": 0, "target": "https://shop.example/", "payload": {}}"#;
    let (status, _, problem) = stage.ask("POST", "messages/1/edit", "s3cret-operate", Some(old)).await;
    assert_eq!((status, &problem["refused"]["because"]), (409, &json!("changed")));
    let other = r#"{"revision": 1, "target": "https://shop.example/", "payload": {"other": 1}, "keep_key": true}"#;
    let (status, _, problem) = stage.ask("POST", "messages/1/edit", "s3cret-operate", Some(other)).await;
    assert_eq!((status, &problem["refused"]["because"]), (409, &json!("payload_under_old_key")));
    let invalid = r#"{"revision": 1, "target": "http://me:pw@shop/", "payload": {}}"#;
    let (status, _, problem) = stage.ask("POST", "messages/1/edit", "s3cret-operate", Some(invalid)).await;
    assert_eq!((status, &problem["type"]), (422, &json!("urn:outbox:problem:invalid-message")));
    for (body, said) in [
        ("{", "the body is not JSON"),
        ("{}", "selection"),
        (r#"{"selection": {"filter": {"chanel": "http"}}}"#, "chanel"),
        (r#"{"selection": {"filter": {"tags": {}}}}"#, "empty"),
        (r#"{"selection": {"filter": {"tags": " , "}}}"#, "empty"),
        (r#"{"selection": {"filter": {"tags": {"order": 4711}}}}"#, "expected a string"),
        (r#"{"selection": {"filter": {"key_prefix": ""}}}"#, "empty"),
        (r#"{"selection": {"filter": {"key_prefix": null}}}"#, "expected a string"),
        (r#"{"selection": {"filter": {}}, "canary": 0}"#, "canary"),
        (r#"{"selection": {"filter": {}}, "rat": 1}"#, "rat"),
    ] {
        let (status, _, problem) = stage.ask("POST", "dead-letters/redrive", "s3cret-operate", Some(body)).await;
        assert!(matches!(status, 400 | 422), "{body}: {status}");
        assert!(problem["detail"].as_str().unwrap().contains(said), "{body}: {problem}");
    }
    assert_eq!(outbox.number("SELECT sum(revision) FROM outbox").await, 3, "nothing was changed");
    let of_tags = r#"{"filter": {"tags": {"order": "1, 2"}, "key_prefix": "b"}}"#;
    let (status, _, groups) = stage.ask("POST", "dead-letters/groups", "s3cret-read", Some(of_tags)).await;
    assert_eq!((status, &groups[0]["count"]), (200, &json!(1)));
    let (status, _, found) =
        stage.ask("GET", "messages?tags=order%3D1%5C%2C+2,customer%3D7&limit=2", "s3cret-read", None).await;
    assert_eq!((status, found["messages"].as_array().unwrap().len()), (200, 2));
    let (status, _, done) = stage.ask("POST", "messages/1/redrive", "s3cret-operate", Some("{}")).await;
    assert_eq!((status, &done["messages"]), (200, &json!([1])));
}

#[tokio::test]
async fn a_text_that_the_database_cannot_take_is_a_fault_of_the_request() {
    let outbox = &outboxes::migrated().await[0];
    let stage = Stage::begin(outbox, &["a"]).await;
    for (path, body) in [
        ("dead-letters/redrive", r#"{"selection": {"filter": {"error_contains": "a\u0000"}}}"#),
        ("dead-letters/purge", r#"{"selection": {"filter": {"destination": "a\u0000"}}}"#),
        ("dead-letters/groups", r#"{"filter": {"error_contains": "a\u0000"}}"#),
    ] {
        let (status, _, problem) = stage.ask("POST", path, "s3cret-operate", Some(body)).await;
        assert_eq!((status, &problem["type"]), (400, &json!("urn:outbox:problem:bad-request")), "{path}: {problem}");
        assert!(problem["detail"].as_str().unwrap().contains("answered with an error"), "{problem}");
    }
    assert_eq!(outbox.number("SELECT count(*) FROM outbox WHERE status = 'DEAD'").await, 1);
}

#[tokio::test]
async fn who_may_not_is_told_what_is_missing() {
    let outbox = &outboxes::migrated().await[2];
    let stage = Stage::begin(outbox, &[]).await;
    let asks = async |token: &str, url: &str, arguments: &[&str]| {
        let mut command = stage.program.command(&[&["--url", url], arguments].concat());
        command.env("OUTBOX_ADMIN__TOKEN", token).env("OUTBOX_ADMIN__READ_TOKEN", "");
        let output = command.output().await.unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for (token, arguments, said) in [
        ("wrong", &["status"] as &[&str], "A token is needed (401): this one is none of this outbox"),
        ("", &["status"], "OUTBOX_ADMIN__TOKEN"),
        ("s3cret-read", &["messages", "cancel", "1"], "changes need admin.token"),
    ] {
        let (code, error) = asks(token, &stage.url, arguments).await;
        assert_eq!(code, Some(1), "{arguments:?}: {error}");
        assert!(error.contains(said) && error.contains(&stage.url), "{error}");
        assert!(!error.contains("s3cret"), "{error}");
    }
    let (code, _) = asks("s3cret-read", &stage.url, &["status"]).await;
    assert_eq!(code, Some(0));
    for (url, code, said) in [
        ("ftp://host", 2, "admin.listen of a replica"),
        ("http://:s3cret@host", 2, "a user or a password"),
        ("http://127.0.0.1:1", 1, "does not answer"),
        (&stage.sink.url("") as &str, 1, "not as an outbox replica"),
    ] {
        let (ended, error) = asks("s3cret-read", url, &["status"]).await;
        assert_eq!(ended, Some(code), "{error}");
        assert!(error.contains(said) && !error.contains("s3cret"), "{error}");
    }
    let misused = stage.program.run(&["--url", &stage.url, "migrate"]).await.misused();
    assert!(misused.contains("takes no --url: it is for status"), "{misused}");
    let (code, log) = stage.replica.stop(Signal::TERM).await;
    assert_eq!(code, Some(0));
    assert!(!log.contains("s3cret"), "{log}");
}

#[tokio::test]
async fn a_replica_whose_role_lacks_a_right_says_so_and_where_it_is_given() {
    for granted in crate::database::grants::granted().await {
        let role = url::Url::parse(&granted.dispatcher).unwrap().username().to_owned();
        let (schema, revoke) = match granted.owner.dialect() {
            Dialect::Postgres => {
                let revoke = format!("REVOKE INSERT ON dispatcher.outbox_audit FROM {role};");
                ("[database]\nschema = \"dispatcher\"\n", revoke)
            }
            Dialect::MySql | Dialect::Sqlite => ("", format!("REVOKE INSERT ON outbox_audit FROM '{role}'@'%';")),
        };
        granted.owner.run_client(&revoke);
        let program = Program::new(&granted.dispatcher, &format!("{TOKENS}{schema}{HTTP}"));
        let mut replica = program.start();
        let url = replica.listener().await;
        let waits = "INSERT INTO outbox (channel, target, payload, available_at) \
                     VALUES ('http', '/', '{}', '2100-01-01 00:00:00')";
        granted.owner.sql(waits).await;
        let refused = program.run(&["--url", &url, "messages", "cancel", "1"]).await.failed();
        assert!(refused.contains("lacks a right") && refused.contains("outbox-schema/grants"), "{refused}");
    }
}

/// Without tokens, and with a channel that reaches loopback: what a replica without settings has.
#[tokio::test]
async fn a_message_to_the_admin_api_of_any_replica_dies_and_changes_nothing() {
    let outbox = Outbox::open(servers::sqlite()).await;
    outbox.database.migrate("default").await.unwrap();
    let program = Program::new(&outbox.test.url, HTTP);
    let (mut first, mut second) = (program.start(), program.start());
    for replica in [&mut first, &mut second] {
        let pause = format!("{}/api/v1/destinations/http/pause", replica.listener().await);
        let payload = r#"{"author": {"why": "somebody else's"}}"#;
        program.run(&["enqueue", "--channel", "http", "--target", &pause, "--payload", payload]).await.done();
    }
    let dead = async || {
        let dead =
            outbox.number("SELECT count(*) FROM outbox WHERE status = 'DEAD' AND dead_reason = 'permanent'").await;
        (dead == 2).then_some(())
    };
    eventually("both are dead", PATIENCE, dead).await;
    let own = "SELECT count(*) FROM outbox WHERE last_error LIKE '%own admin API (admin.listen)%'";
    let other = "SELECT count(*) FROM outbox WHERE last_error LIKE '%answered 403%'";
    assert_eq!((outbox.number(own).await, outbox.number(other).await), (1, 1));
    assert_eq!(program.run(&["destinations", "list", "--json"]).await.json(), json!([]));
}
