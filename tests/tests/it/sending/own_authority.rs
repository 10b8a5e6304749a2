//! A certificate that signs itself and is an authority, named as its own, is refused in words that say what to do.

use outbox_tests::servers::{self, Postgres, RedisTls};

use crate::outboxes::{self, Outbox};
use crate::program::{HTTP, Program};

/// What is wrong, the command that makes another, and where the document tells of it.
const WORDS: [&str; 4] =
    ["(CA:TRUE)", "openssl req -x509", "-addext basicConstraints=critical,CA:FALSE", "docs/deploy.md"];

fn says_what_to_do(text: &str) {
    assert!(WORDS.iter().all(|word| text.contains(word)) && !text.contains("CaUsedAsEndEntity"), "{text}");
}

#[tokio::test]
async fn check_and_log_say_what_to_do_about_a_postgresql_that_is_its_own_authority() {
    let (server, certificate) = Postgres::start_as_own_authority().await;
    let url = server.database().await.url;
    outboxes::connect(&url, None).await.migrate("default").await.unwrap();
    let program = Program::new(&format!("{url}?sslmode=verify-full&sslrootcert={certificate}"), HTTP);
    let checked = program.run(&["check"]).await;
    assert_eq!(checked.code, Some(1));
    says_what_to_do(&checked.stdout);
    says_what_to_do(&program.run(&["run", "--until-empty"]).await.failed());
    // The server has TLS, and is well otherwise.
    let unverified = Program::new(&format!("{url}?sslmode=require"), HTTP).run(&["check"]).await.done();
    assert!(unverified.contains("TLS: unverified"), "{unverified}");
}

#[tokio::test]
async fn check_and_log_say_what_to_do_about_a_redis_that_is_its_own_authority() {
    let redis = RedisTls::start_as_own_authority().await;
    let outbox = Outbox::open(servers::postgres().await.database().await).await;
    outbox.database.migrate("default").await.unwrap();
    let lease = format!("[lease]\nurl = \"rediss://localhost:{}\"\ntls_ca = \"{}\"\n", redis.port(), redis.authority());
    let program = Program::new(&outbox.test.url, &format!("{HTTP}{lease}"));
    let checked = program.run(&["check"]).await;
    assert_eq!(checked.code, Some(1));
    says_what_to_do(&checked.stdout);
    says_what_to_do(&program.start().says("CA:TRUE").await);
}
