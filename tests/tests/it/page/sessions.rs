//! Who comes in, and what a form must bring along.

use super::{OPERATES, Person, READS, RETRIES, Stage, TOKENS};
use crate::outboxes;
use crate::program::{HTTP, Program};

/// Each form that changes something, and its fields.
const CHANGES: [(&str, &[(&str, &str)]); 12] = [
    ("/messages/1/cancel", &[]),
    ("/messages/1/redrive", &[]),
    ("/messages/1/edit", &[("revision", "1"), ("target", "http://127.0.0.1:9/"), ("payload", "{}"), ("write", "yes")]),
    ("/dead-letters/redrive", &[("all", "yes")]),
    ("/dead-letters/purge", &[("all", "yes"), ("why", "test")]),
    ("/dead-letters/edit", &[("all", "yes"), ("new_target", "http://127.0.0.1:9/")]),
    ("/redrives/1/undo", &[]),
    ("/destinations/pause", &[("destination", "http"), ("why", "test")]),
    ("/destinations/resume", &[("destination", "http")]),
    ("/invalid-targets/clear", &[("all", "yes")]),
    ("/retention/prune", &[("success", "0s"), ("dead", "0s"), ("why", "test")]),
    ("/wake", &[]),
];

const PAGES: [&str; 11] = [
    "/",
    "/messages",
    "/dead-letters",
    "/ordering-keys",
    "/destinations",
    "/terms",
    "/invalid-targets",
    "/audit",
    "/retention",
    "/settings",
    "/check",
];

#[tokio::test]
async fn somebody_signs_in_with_a_token_at_one_replica_and_is_known_at_each() {
    let [outbox, ..] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    let stranger = Person::at(&stage.url);
    let led = stranger.look("/messages?status=DEAD").await;
    assert_eq!((led.status, led.location.as_str()), (303, "/sign-in?to=%2Fmessages%3Fstatus%3DDEAD"));
    let wrong = stranger.send("/sign-in", "/sign-in", &[("token", "guessed")]).await;
    assert_eq!(wrong.status, 403);
    assert!(wrong.text.contains("this is no token of this outbox"), "{}", wrong.text);
    assert_eq!(stranger.look("/").await.status, 303);

    let ada = stage.person(OPERATES).await;
    assert!(ada.page("/").await.contains("Sign out"));
    let other = Program::new(&outbox.test.url, &format!("{TOKENS}{HTTP}"));
    let mut replica = other.start();
    let there = ada.moved(&replica.listener().await);
    assert!(there.page("/").await.contains("Overview"));
    // A form of one replica may be answered by another.
    let form = ada.page("/destinations").await;
    let token = super::between(&form, "name=\"form\" value=\"", "\"");
    let sent = there.post("/destinations/pause", &[("form", token), ("destination", "http"), ("why", "test")]).await;
    assert_eq!((sent.status, sent.location.as_str()), (303, "/destinations"), "{}", sent.text);

    let out = ada.send("/", "/sign-out", &[]).await;
    assert_eq!((out.status, out.location.as_str()), (303, "/sign-in"));
    assert_eq!(ada.look("/").await.status, 303);
}

#[tokio::test]
async fn who_may_only_read_sees_no_form_and_changes_nothing() {
    let [outbox, ..] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    let id = stage.message(&outbox, "/garbage", &[]).await;
    stage.dead(&outbox, 1).await;
    let reader = stage.person(READS).await;
    let of_message = format!("/messages/{id}");
    for path in PAGES.into_iter().chain([of_message.as_str(), "/dead-letters?channel=http"]) {
        let page = reader.page(path).await;
        let forms: Vec<_> = page.matches("method=\"post\" action=\"").collect();
        assert_eq!(forms.len(), 1, "{path}: one form, to sign out");
        assert!(page.contains("action=\"/sign-out\""), "{path}");
        for way in ["/dead-letters/purge", "/retention/prune"] {
            assert!(!page.contains(way), "{path}: {way}");
        }
    }
    for (path, fields) in CHANGES {
        let refused = reader.send("/", path, fields).await;
        assert_eq!(refused.status, 403, "{path}: {}", refused.text);
        assert!(refused.text.contains("admin.read_token only reads"), "{path}");
    }
    for path in [
        "/dead-letters/redrive",
        "/dead-letters/purge?id=1",
        "/dead-letters/edit",
        "/redrives/1/undo",
        "/retention/prune",
    ] {
        assert_eq!(reader.look(path).await.status, 403, "{path}");
    }
    assert_eq!(outbox.number("SELECT count(*) FROM outbox_audit").await, 0);
}

#[tokio::test]
async fn who_may_only_send_again_finds_no_other_form_and_is_refused_all_else() {
    let [outbox, ..] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    let id = stage.message(&outbox, "/garbage", &[]).await;
    stage.dead(&outbox, 1).await;
    let support = stage.person(RETRIES).await;
    let of_message = format!("/messages/{id}");
    assert!(support.page("/").await.contains("sends again"));
    for path in PAGES.into_iter().chain([of_message.as_str(), "/dead-letters?channel=http"]) {
        let page = support.page(path).await;
        for way in ["/purge", "/edit", "/cancel", "/prune", "/undo", "/pause", "/clear", "action=\"/wake\""] {
            assert!(!page.contains(way), "{path}: {way}");
        }
    }
    for (path, fields) in CHANGES.into_iter().filter(|(path, _)| !path.ends_with("/redrive")) {
        let refused = support.send("/", path, fields).await;
        assert_eq!(refused.status, 403, "{path}: {}", refused.text);
        assert!(refused.text.contains("you may retry, redrive and replay"), "{path}: {}", refused.text);
    }
    for path in ["/dead-letters/purge?id=1", "/dead-letters/edit", "/redrives/1/undo", "/retention/prune"] {
        assert_eq!(support.look(path).await.status, 403, "{path}");
    }
    assert_eq!(outbox.number("SELECT count(*) FROM outbox_audit").await, 0);
    assert!(support.page("/dead-letters").await.contains("/dead-letters/redrive"));
    let sent = support.send(&of_message, &format!("{of_message}/redrive"), &[]).await;
    assert_eq!((sent.status, sent.location), (303, of_message), "{}", sent.text);
    assert_eq!(outbox.text("SELECT min(action) FROM outbox_audit").await, "redrive");
}

#[tokio::test]
async fn whom_a_proxy_names_needs_no_token_and_operates_only_where_the_settings_name_them() {
    let [.., outbox] = outboxes::migrated().await;
    let people = "user_header = \"X-Forwarded-User\"\noperators = [\"ada@shop.example\"]\n";
    let stage = Stage::begin(&outbox, &format!("{TOKENS}{people}")).await;
    let proxy = ("Authorization", "Bearer s3cret-operate");
    let by = |name| {
        let mut person = Person::at(&stage.url);
        person.added = vec![proxy, ("X-Forwarded-User", name)];
        person
    };
    let (ada, grace) = (by("ada@shop.example"), by("grace@shop.example"));
    let pause = [("destination", "http"), ("why", "test")];
    assert!(grace.page("/").await.contains("sends again"));
    assert!(!grace.page("/destinations").await.contains("/destinations/pause"));
    assert_eq!(grace.post("/destinations/pause", &pause).await.status, 403);
    let by_api = grace.ask(|client, url| {
        let request = client.post(format!("{url}/api/v1/destinations/http/pause")).header("X-Outbox-Client", "1");
        request.header("content-type", "application/json").body("{}")
    });
    let by_api = by_api.await;
    assert_eq!(by_api.status, 403, "nor by the API");
    assert!(by_api.text.contains("your name in admin.operators"), "{}", by_api.text);
    let done = ada.send("/destinations", "/destinations/pause", &pause).await;
    assert_eq!(done.status, 303, "{}", done.text);
    let who = "SELECT min(who) FROM outbox_audit WHERE action = 'pause'";
    assert_eq!(outbox.text(who).await, "ada@shop.example (page)");
    // No session keeps what the proxy's token allows.
    for mut person in [ada, grace] {
        person.added = Vec::new();
        assert_eq!(person.look("/").await.status, 303, "without the proxy nobody is signed in");
    }
    // A program with the token comes by no proxy.
    let mut program = Person::at(&stage.url);
    program.added = vec![proxy];
    let by_api = program.ask(|client, url| {
        let request = client.post(format!("{url}/api/v1/destinations/http/resume")).header("X-Outbox-Client", "1");
        request.header("content-type", "application/json").body("{}")
    });
    assert_eq!(by_api.await.status, 200);
}

#[tokio::test]
async fn a_form_without_the_token_of_its_session_changes_nothing() {
    let [.., outbox] = outboxes::migrated().await;
    let with_tokens = Stage::begin(&outbox, TOKENS).await;
    let ada = with_tokens.person(OPERATES).await;
    let grace = with_tokens.person(OPERATES).await;
    let hers = grace.page("/destinations").await;
    let hers = super::between(&hers, "name=\"form\" value=\"", "\"");
    for (path, fields) in CHANGES {
        for token in [None, Some("guessed"), Some(hers)] {
            let token: Vec<_> = token.map(|token| ("form", token)).into_iter().collect();
            let refused = ada.post(path, &[&token[..], fields].concat()).await;
            assert_eq!(refused.status, 403, "{path}: {}", refused.text);
            assert!(refused.text.contains("the form is not of this session"), "{path}: {}", refused.text);
        }
    }
    drop(with_tokens);
    let without = Stage::begin(&outbox, "").await;
    let anybody = Person::at(&without.url);
    assert!(anybody.page("/").await.contains("Running."));
    for (path, fields) in CHANGES {
        assert_eq!(anybody.post(path, fields).await.status, 403, "{path}");
        assert_eq!(Person::at(&without.url).post(path, fields).await.status, 403, "{path}: without a cookie");
    }
    let crossing = anybody.page("/destinations").await;
    let token = super::between(&crossing, "name=\"form\" value=\"", "\"");
    let body = format!("form={token}&destination=http&why=test");
    let from_elsewhere = anybody
        .ask(|client, url| {
            let request = client.post(format!("{url}/destinations/pause")).header("sec-fetch-site", "same-site");
            request.header("content-type", "application/x-www-form-urlencoded").body(body)
        })
        .await;
    assert_eq!(from_elsewhere.status, 403, "a page of another port");
    assert_eq!(outbox.number("SELECT count(*) FROM outbox_audit").await, 0);
    let sent = anybody.send("/destinations", "/destinations/pause", &[("destination", "http"), ("why", "test")]).await;
    assert_eq!(sent.status, 303, "{}", sent.text);
}

#[tokio::test]
async fn a_browser_is_told_to_run_nothing_frame_nothing_and_keep_nothing() {
    let [.., outbox] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, TOKENS).await;
    let ada = stage.person(OPERATES).await;
    let (page, led, lost) =
        (ada.look("/").await, Person::at(&stage.url).look("/").await, ada.look("/messages/9").await);
    assert_eq!((page.status, led.status, lost.status), (200, 303, 404));
    for shown in [&page, &led, &lost] {
        let header = |name: &str| shown.headers.get(name).map_or("", |value| value.to_str().unwrap());
        let policy = header("content-security-policy");
        for part in ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"] {
            assert!(policy.contains(part) && !policy.contains("unsafe"), "{policy}");
        }
        let others = ["referrer-policy", "cache-control", "x-content-type-options"].map(header);
        assert_eq!(others, ["no-referrer", "no-store", "nosniff"]);
    }
    // What the policy forbids is not there either.
    assert!(!page.text.contains(" style=") && !page.text.contains(" onclick="), "{}", page.text);
    let scripts = ["<script", "<script src=\"/assets/"].map(|script| page.text.matches(script).count());
    assert!(scripts == [2, 2] && page.text.len() < 100_000, "{scripts:?}");

    let secure = Person::at(&stage.url);
    let over_tls = secure.ask(|client, url| client.get(format!("{url}/")).header("x-forwarded-proto", "https")).await;
    let cookie = over_tls.headers["set-cookie"].to_str().unwrap();
    assert!(cookie.contains("HttpOnly; SameSite=Strict; Secure"), "{cookie}");
}

#[tokio::test]
async fn without_a_token_the_page_answers_to_this_machine_alone() {
    let [.., outbox] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, "").await;
    let person = Person::at(&stage.url);
    for (host, status) in [("rebound.example", 403), ("localhost", 200), ("127.0.0.1:8640", 200)] {
        let shown = person.ask(|client, url| client.get(format!("{url}/messages")).header("host", host)).await;
        assert_eq!(shown.status, status, "{host}");
    }
}

#[tokio::test]
async fn what_messages_contain_is_hidden_from_who_only_reads_where_the_settings_say_so() {
    let [outbox, ..] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, &format!("{TOKENS}read_payloads = false\n")).await;
    let id = stage.message(&outbox, "/garbage", &["--header", "X-Tenant: 8"]).await;
    stage.dead(&outbox, 1).await;
    let path = format!("/messages/{id}");
    let (reader, operator) = (stage.person(READS).await, stage.person(OPERATES).await);
    let target = stage.sink.url("/");
    let edit = [("revision", "1"), ("target", &*target), ("payload", "{\"order\": 18}"), ("write", "yes")];
    assert_eq!(operator.send(&path, &format!("{path}/edit"), &edit).await.status, 303);
    // The payload's only name as HTML and as JSON write it, a header, the receiver's answer, and what the edit overwrote.
    let contents = ["order&quot;", "order\\\"", "X-Tenant", "because", "before:"];
    let seen = operator.page(&path).await;
    assert!(contents[..1].iter().all(|content| seen.contains(content)), "{seen}");
    let hidden = reader.page(&path).await;
    assert!(hidden.contains("hidden: admin.read_payloads = false"), "{hidden}");
    let audit = reader.page(&format!("/audit?message={id}")).await;
    let api = async |path: &str| {
        let asked = reader.ask(|client, url| client.get(format!("{url}/api/v1{path}")).bearer_auth(READS)).await;
        assert_eq!(asked.status, 200);
        asked.text
    };
    let answers = [api(&path).await, api(&format!("/audit?message={id}")).await];
    for shown in [&hidden, &audit, &answers[0], &answers[1]] {
        for content in contents {
            assert!(!shown.contains(content), "{content} in {shown}");
        }
    }
    let purge = [("error_contains", "answered"), ("why", "test")];
    operator.send("/dead-letters/purge", "/dead-letters/purge", &purge).await;
    let operation = format!("/operations/{}", outbox.number("SELECT max(id) FROM outbox_operation").await);
    let seen = operator.page(&operation).await;
    assert!(seen.contains("error contains answered"), "{seen}");
    for shown in [reader.page(&operation).await, api(&operation).await, api("/operations").await] {
        assert!(!shown.contains("answered"), "{shown}");
    }
}

#[tokio::test]
async fn the_audit_has_the_name_that_a_proxy_gives_whatever_a_form_says() {
    let [.., outbox] = outboxes::migrated().await;
    let stage = Stage::begin(&outbox, &format!("{TOKENS}user_header = \"X-Forwarded-User\"\n")).await;
    for path in ["/garbage", "/garbage"] {
        stage.message(&outbox, path, &[]).await;
    }
    stage.dead(&outbox, 2).await;
    let mut ada = stage.person(OPERATES).await;
    let redrive = [("reason", "permanent"), ("why", "it is back"), ("by", "mallory")];
    let form = ada.page("/dead-letters/redrive?reason=permanent").await;
    assert!(form.contains("name=\"by\""), "who comes by no proxy says it: {form}");
    ada.added = vec![("X-Forwarded-User", "grace@shop.example")];
    let form = ada.page("/dead-letters/redrive?reason=permanent").await;
    assert!(!form.contains("name=\"by\"") && form.contains("grace@shop.example"), "{form}");
    let done = ada.send("/dead-letters", "/dead-letters/redrive", &redrive).await;
    assert!(done.status < 400, "{}: {}", done.status, done.text);
    let who = "SELECT min(who) FROM outbox_audit WHERE action = 'redrive' AND part_of IS NULL";
    assert_eq!(outbox.text(who).await, "grace@shop.example (page)");
}
