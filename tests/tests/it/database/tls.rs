//! A database beyond this machine gets no password before it has shown whose it is, unless the URL allows that.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::outboxes;
use crate::program::{PATIENCE, Program};

/// Leads to a server of this machine, and is none of its loopback addresses.
const FAR: &str = "0.0.0.0";

/// Who has no TLS, and asks for the password in clear text. What clients send after that comes out of the channel.
async fn impostor() -> (u16, mpsc::UnboundedReceiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, told) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let sender = sender.clone();
            tokio::spawn(async move {
                let mut buffer = vec![0; 4096];
                // The wish for TLS, and what begins a session without it.
                client.read_exact(&mut buffer[..8]).await?;
                client.write_all(b"N").await?;
                if client.read(&mut buffer).await? > 0 {
                    client.write_all(b"R\0\0\0\x08\0\0\0\x03").await?;
                    let length = client.read(&mut buffer).await?;
                    let _ = sender.send(buffer[..length].to_vec());
                }
                std::io::Result::Ok(())
            });
        }
    });
    (port, told)
}

#[tokio::test]
async fn who_answers_in_place_of_a_far_database_is_told_no_password() {
    let (port, mut told) = impostor().await;
    let check = async |more: &str| {
        let program = Program::new(&format!("postgres://shop:s3cret@{FAR}:{port}/shop{more}"), "");
        program.run(&["check"]).await.stdout
    };
    for verifies in ["", "?sslrootcert=/etc/ssl/certs/ca-certificates.crt", "?sslmode=require"] {
        let said = check(verifies).await;
        assert!(said.contains("FAILED") && !said.contains("s3cret"), "{said}");
        assert_eq!(said.contains("?sslmode=verify-full&sslrootcert=FILE"), !verifies.contains("require"), "{said}");
        assert!(told.try_recv().is_err(), "{verifies}");
    }
    check("?sslmode=prefer").await;
    let heard = tokio::time::timeout(PATIENCE, told.recv()).await.expect("the URL allows it").unwrap();
    assert!(heard.windows(6).any(|part| part == b"s3cret"));
}

#[tokio::test]
async fn check_says_how_the_connection_is_protected_and_what_to_write_where_the_server_cannot_be_verified() {
    let [postgres, mysql, _] = outboxes::migrated().await;
    for (outbox, unverified, authority) in
        [(postgres, "?sslmode=prefer", "sslrootcert="), (mysql, "?ssl-mode=PREFERRED", "ssl-ca=")]
    {
        let near = Program::new(&outbox.test.url, "").run(&["check"]).await.done();
        // The test's PostgreSQL has no TLS, and what stays on this machine needs none.
        let by_itself = near.contains("answers; TLS: none (it does not leave this machine)");
        assert!(by_itself || near.contains("answers; TLS: unverified"), "{near}");
        let far = outbox.test.url.replace("127.0.0.1", FAR);
        let refused = Program::new(&far, "").run(&["check"]).await;
        assert!(refused.stdout.contains(unverified) && refused.stdout.contains(authority), "{}", refused.stdout);
        let allowed = Program::new(&format!("{far}{unverified}"), "").run(&["check"]).await.done();
        assert!(!allowed.contains("does not leave this machine"), "{allowed}");
        assert!(allowed.contains("answers; TLS: none") || allowed.contains("answers; TLS: unverified"), "{allowed}");
    }
}
