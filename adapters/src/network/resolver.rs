//! The resolver that connections are made with: it returns only addresses that the channel may reach, so a name
//! cannot be public when it is checked and private when it is dialled.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::Guard;

/// Where names are looked up.
#[async_trait]
pub(crate) trait Lookup: Send + Sync + 'static {
    /// The addresses of `name`.
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The system's resolver (`getaddrinfo`). Its answers are not kept: a pooled connection needs no look-up.
pub(crate) struct System;

#[async_trait]
impl Lookup for System {
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }
}

/// A look-up behind a [`Guard`].
pub(crate) struct GuardedResolver<L = System> {
    guard: Arc<Guard>,
    lookup: Arc<L>,
}

impl GuardedResolver {
    /// The system's resolver behind `guard`.
    pub(crate) fn new(guard: Arc<Guard>) -> Self {
        Self { guard, lookup: Arc::new(System) }
    }
}

impl<L: Lookup> Resolve for GuardedResolver<L> {
    fn resolve(&self, name: Name) -> Resolving {
        let (guard, lookup) = (Arc::clone(&self.guard), Arc::clone(&self.lookup));
        Box::pin(async move {
            let addresses = lookup.addresses(name.as_str()).await?;
            let permitted = guard.filter(name.as_str(), addresses)?;
            // Port 0 is replaced by the port of the URL.
            let dialled: Addrs = Box::new(permitted.into_iter().map(|ip| SocketAddr::new(ip, 0)));
            Ok(dialled)
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::VecDeque;
    use std::error::Error;
    use std::sync::Mutex;

    use tokio::net::TcpListener;

    use super::super::Forbidden;
    use super::*;

    /// Answers each look-up with the next of its answers.
    struct Scripted(Mutex<VecDeque<Vec<IpAddr>>>);

    #[async_trait]
    impl Lookup for Scripted {
        async fn addresses(&self, _: &str) -> io::Result<Vec<IpAddr>> {
            Ok(self.0.lock().unwrap().pop_front().unwrap())
        }
    }

    fn resolver(answers: &[&[&str]]) -> GuardedResolver<Scripted> {
        let answers = answers.iter().map(|ips| ips.iter().map(|ip| ip.parse().unwrap()).collect()).collect();
        GuardedResolver { guard: Arc::new(Guard::new("hooks", &[])), lookup: Arc::new(Scripted(Mutex::new(answers))) }
    }

    async fn resolve(resolver: &GuardedResolver<Scripted>) -> Result<Vec<String>, Forbidden> {
        match resolver.resolve("hooks.example.com".parse().unwrap()).await {
            Ok(addresses) => Ok(addresses.map(|address| address.ip().to_string()).collect()),
            Err(error) => Err(error.downcast_ref::<Forbidden>().unwrap().clone()),
        }
    }

    #[tokio::test]
    async fn a_name_that_turns_private_at_its_second_lookup_is_not_dialled() {
        let resolver = resolver(&[&["93.184.215.14"], &["169.254.169.254"]]);
        assert_eq!(resolve(&resolver).await, Ok(vec!["93.184.215.14".to_owned()]));
        let refused = resolve(&resolver).await.unwrap_err().to_string();
        assert!(refused.contains("hooks.example.com resolves only to addresses like 169.254.169.254"), "{refused}");
        assert!(refused.contains("channels.hooks.allow_networks"), "{refused}");
    }

    /// Listeners of 127.0.0.2 and of 127.0.0.1, whose port may be somebody else's.
    async fn two_of_one_port() -> (TcpListener, std::net::TcpListener) {
        loop {
            let permitted = TcpListener::bind("127.0.0.2:0").await.unwrap();
            if let Ok(forbidden) = std::net::TcpListener::bind(("127.0.0.1", permitted.local_addr().unwrap().port())) {
                forbidden.set_nonblocking(true).unwrap();
                return (permitted, forbidden);
            }
        }
    }

    /// The client asks once for each connection, and what it is told is what it dials.
    #[tokio::test]
    async fn a_client_never_dials_what_a_rebinding_name_turns_into() {
        crate::setup::ensure_crypto_provider();
        let (permitted, forbidden) = two_of_one_port().await;
        let port = permitted.local_addr().unwrap().port();
        let guard = Guard::new("hooks", &["127.0.0.2/32".parse().unwrap()]);
        let answers =
            VecDeque::from([["127.0.0.2"], ["127.0.0.1"]].map(|ips| ips.map(|ip| ip.parse().unwrap()).to_vec()));
        let resolver = GuardedResolver { guard: Arc::new(guard), lookup: Arc::new(Scripted(Mutex::new(answers))) };
        let client = reqwest::Client::builder().no_proxy().timeout(std::time::Duration::from_secs(10));
        let client = client.dns_resolver(Arc::new(resolver)).build().unwrap();
        let url = format!("http://hooks.example.com:{port}/");

        let first = tokio::spawn(client.get(&url).send());
        drop(permitted.accept().await.unwrap());
        assert!(first.await.unwrap().is_err(), "the receiver hung up");
        let error = client.get(&url).send().await.unwrap_err();
        let mut causes = std::iter::successors(Error::source(&error), |cause| (**cause).source());
        assert!(causes.any(<dyn Error>::is::<Forbidden>), "{error:?}");
        assert_eq!(forbidden.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock, "nobody called");
    }

    #[tokio::test]
    async fn only_the_permitted_addresses_of_a_name_are_dialled() {
        let resolver = resolver(&[&["10.0.0.1", "93.184.215.14", "::1", "2606:4700::1111"]]);
        assert_eq!(resolve(&resolver).await.unwrap(), ["93.184.215.14", "2606:4700::1111"]);
    }
}
