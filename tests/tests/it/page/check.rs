//! What a check finds, on the page, by the API and by the command line.

use serde_json::Value;

use super::{READS, Stage, TOKENS, words};
use crate::outboxes;

/// A channel whose receiver is where no message may go.
const CLOSED: &str = "[channels.closed]\nkind = \"http\"\nbase_url = \"http://localhost:9/\"\n";

impl Stage {
    /// The report that the API gives to a token that only reads.
    async fn report(&self, query: &str) -> Value {
        outbox_adapters::ensure_crypto_provider();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let asked = client.get(format!("{}/api/v1/check{query}", self.url)).bearer_auth(READS).send().await.unwrap();
        assert_eq!(asked.status(), 200, "{query}");
        serde_json::from_slice(&asked.bytes().await.unwrap()).unwrap()
    }
}

#[tokio::test]
async fn a_replica_finds_what_the_command_finds_on_the_database() {
    for outbox in outboxes::each().await {
        let stage = Stage::begin(&outbox, TOKENS).await;
        stage.message(&outbox, "/garbage", &[]).await;
        // Now it is known who polls.
        stage.dead(&outbox, 1).await;
        let reader = stage.person(READS).await;
        for (query, arguments) in
            [("", &["check", "--json"] as &[&str]), ("?strict=true", &["check", "--strict", "--json"])]
        {
            let by_database: Value = serde_json::from_str(&stage.program.run(arguments).await.stdout).unwrap();
            let by_replica = stage.program.run(&[&["--url", &stage.url], arguments].concat()).await;
            assert_eq!(by_replica.code, Some(i32::from(by_database["ok"] != true)));
            assert_eq!(serde_json::from_str::<Value>(&by_replica.stdout).unwrap(), by_database);
            assert_eq!(stage.report(query).await, by_database);

            let page = reader.page(&format!("/check{query}")).await;
            let shown =
                words(&page).replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
            let findings = by_database["findings"].as_array().unwrap();
            assert!(findings.len() > 4, "{findings:?}");
            for finding in findings {
                let subject = finding["subject"].as_str().unwrap();
                let text = finding["text"].as_str().unwrap().replace('`', "");
                assert!(shown.contains(subject) && shown.contains(&text), "{subject}: {text} is not in {shown}");
            }
            assert!(shown.contains("A crash of the poller costs at most 11.4 s"), "{shown}");
            assert!(!page.contains("s3cret"), "{page}");
        }
        assert_eq!(reader.look("/check?strikt=true").await.status, 400);
    }
}

#[tokio::test]
async fn what_cannot_be_used_is_said_first_and_by_name() {
    let [outbox, ..] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, &format!("{TOKENS}{CLOSED}")).await;
    let reader = stage.person(READS).await;
    let shown = words(&reader.page("/check").await);
    assert!(shown.contains("Something cannot be used. Failed: 1."), "{shown}");
    assert!(shown.contains("channel closedfailedhttp://localhost:9"), "{shown}");
    let failed = stage.program.run(&["--url", &stage.url, "check"]).await;
    assert_eq!(failed.code, Some(1));
    let line = failed.stdout.lines().find(|line| line.starts_with("channel closed")).unwrap();
    assert!(line.contains("FAILED"), "{line}");
}
