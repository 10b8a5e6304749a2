//! The resolver of all connections. It returns only addresses that the channel may reach. So a name cannot be public
//! when it is checked and private when it is dialled.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use url::Url;

use super::{Forbidden, Guard, look_ups};

/// A source of addresses for names.
#[async_trait]
pub(crate) trait Lookup: Send + Sync + 'static {
    /// The addresses of `name`.
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The resolver of the system, which all channels share.
pub(crate) struct System;

#[async_trait]
impl Lookup for System {
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        look_ups::addresses(name).await
    }
}

/// Why a name cannot be dialled.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ResolveError {
    #[error(transparent)]
    Forbidden(#[from] Forbidden),
    #[error("{0}")]
    Unresolved(#[from] io::Error),
}

/// A look-up behind a [`Guard`].
pub(crate) struct Resolver<L = System> {
    guard: Arc<Guard>,
    lookup: L,
}

impl Resolver {
    /// The system's resolver behind `guard`.
    pub(crate) fn new(guard: Arc<Guard>) -> Self {
        Self { guard, lookup: System }
    }
}

impl<L: Lookup> Resolver<L> {
    /// Checks a URL whose host may be an address, which needs no look-up.
    pub(crate) fn check(&self, url: &Url) -> Result<(), Forbidden> {
        self.guard.check(url)
    }

    /// The addresses of `name` that may be dialled at this port.
    pub(crate) async fn resolve(&self, name: &str, port: u16) -> Result<Vec<SocketAddr>, ResolveError> {
        let addresses = self.lookup.addresses(name).await?;
        Ok(self.guard.filter(name, port, addresses)?)
    }
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used)]
    use parking_lot::Mutex;
    use std::collections::VecDeque;

    use super::*;

    /// Answers each look-up with the next of its answers.
    pub(in super::super) struct Scripted(Mutex<VecDeque<Vec<IpAddr>>>);

    #[async_trait]
    impl Lookup for Scripted {
        async fn addresses(&self, _: &str) -> io::Result<Vec<IpAddr>> {
            Ok(self.0.lock().pop_front().unwrap())
        }
    }

    /// A resolver behind a guard that permits public addresses and those of `allowed`.
    pub(in super::super) fn resolver(allowed: &[&str], answers: &[&[&str]]) -> Resolver<Scripted> {
        let allowed: Vec<_> = allowed.iter().map(|network| network.parse().unwrap()).collect();
        let answers = answers.iter().map(|ips| ips.iter().map(|ip| ip.parse().unwrap()).collect()).collect();
        Resolver { guard: Arc::new(Guard::new("hooks", &allowed, None)), lookup: Scripted(Mutex::new(answers)) }
    }

    async fn resolve(resolver: &Resolver<Scripted>) -> Result<Vec<String>, String> {
        match resolver.resolve("hooks.example.com", 443).await {
            Ok(addresses) => Ok(addresses.iter().map(|address| address.ip().to_string()).collect()),
            Err(ResolveError::Forbidden(forbidden)) => Err(forbidden.to_string()),
            Err(error @ ResolveError::Unresolved(_)) => panic!("{error}"),
        }
    }

    #[tokio::test]
    async fn a_name_that_turns_private_at_its_second_lookup_is_not_dialled() {
        let resolver = resolver(&[], &[&["93.184.215.14"], &["169.254.169.254"]]);
        assert_eq!(resolve(&resolver).await, Ok(vec!["93.184.215.14".to_owned()]));
        let refused = resolve(&resolver).await.unwrap_err();
        assert!(refused.contains("hooks.example.com resolves only to addresses like 169.254.169.254"), "{refused}");
        assert!(refused.contains("channels.hooks.allow_networks"), "{refused}");
    }

    #[tokio::test]
    async fn only_the_permitted_addresses_of_a_name_are_dialled() {
        let resolver = resolver(&[], &[&["10.0.0.1", "93.184.215.14", "::1", "2606:4700::1111"]]);
        assert_eq!(resolve(&resolver).await.unwrap(), ["93.184.215.14", "2606:4700::1111"]);
    }
}
