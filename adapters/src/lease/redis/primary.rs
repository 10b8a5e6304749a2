//! Finds the server that has the lease: that of the URL, the one that the sentinels call the primary
//! (<https://redis.io/docs/latest/develop/reference/sentinel-clients/>), or the node of a cluster that owns its key
//! (<https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#moved-redirection>).

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use redis::aio::{MultiplexedConnection, PubSub};
use redis::io::tcp::socket2::TcpKeepalive;
use redis::{
    AsyncConnectionConfig, Client, ConnectionInfo, ErrorKind, RedisError, RedisResult, Role, ServerErrorKind,
    TlsCertificates,
};

use tokio::sync::watch;

use super::address::{Address, Sentinels, node_named, reached_as};
use super::turned_away;

/// Bounds the making of a connection, and the wait for an answer. Callers set tighter bounds where they need them.
pub(super) const TIMEOUT: Duration = Duration::from_secs(1);

/// The longest time before a silent peer is first probed, and between probes.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// How often a server is asked why it takes no connection.
const WHY_AGAIN: Duration = Duration::from_secs(10);

/// So many probes without an answer end a connection.
const PROBES: u32 = 2;

/// The shortest time for either: systems count it in seconds.
const SHORTEST: Duration = Duration::from_secs(1);

/// The server that has the lease.
pub(super) struct Primary {
    address: Address,
    certificates: Option<TlsCertificates>,
    /// `lease.ttl`, within which a silent peer is found out.
    ttl: Duration,
    /// Raised where a call got no answer.
    silences: watch::Sender<()>,
    /// When the server was last asked why it takes no connection.
    asked_why: Mutex<Option<Instant>>,
    /// The index of the server of the URL that is asked first: of sentinels the last one that was right, or else the one after the
    /// last that was asked.
    turn: AtomicUsize,
    /// Where calls go: the server that answered last, or the node to which it sent a call. It is forgotten with the first call that
    /// fails, so that another one is asked: what a node says of its cluster may be old.
    owner: Mutex<Option<ConnectionInfo>>,
    /// Whether a cluster has ever sent a call elsewhere.
    is_cluster: AtomicBool,
}

impl Primary {
    /// `tls_ca` is PEM text whose authorities are trusted instead of the system's.
    pub(super) fn new(address: Address, tls_ca: Option<Vec<u8>>, ttl: Duration) -> RedisResult<Self> {
        let certificates = tls_ca.map(|root_cert| TlsCertificates { client_tls: None, root_cert: Some(root_cert) });
        let silences = watch::Sender::default();
        let primary = Self {
            address,
            certificates,
            ttl,
            silences,
            asked_why: Mutex::default(),
            turn: AtomicUsize::new(0),
            owner: Mutex::default(),
            is_cluster: AtomicBool::new(false),
        };
        primary.client(primary.named()[0].clone())?;
        Ok(primary)
    }

    /// The servers that the URL names.
    fn named(&self) -> &[ConnectionInfo] {
        match &self.address {
            Address::Server(info) => std::slice::from_ref(info),
            Address::Sentinels(Sentinels { asked, .. }) => asked,
            Address::Cluster(nodes) => nodes,
        }
    }

    /// The user on that server, and whether sentinels name it.
    pub(super) fn user(&self) -> (String, bool) {
        let (login, has_sentinels) = match &self.address {
            Address::Server(info) => (info.redis_settings(), false),
            Address::Sentinels(known) => (&known.server, true),
            Address::Cluster(nodes) => (nodes[0].redis_settings(), false),
        };
        (login.username().unwrap_or("default").to_owned(), has_sentinels)
    }

    /// A connection for commands.
    pub(super) async fn connect(&self) -> RedisResult<MultiplexedConnection> {
        if let Address::Sentinels(known) = &self.address {
            return Ok(self.elected(known).await?.1);
        }
        let owner = self.owner().clone();
        if let Some(owner) = owner {
            return connect(&self.client(owner)?).await.inspect_err(|_| self.failed());
        }
        let ask = |node: &'_ ConnectionInfo| connect_to(self.client(node.clone()));
        let (place, connection) = self.first_that_answers(ask).await?;
        *self.owner() = Some(self.named()[place].clone());
        Ok(connection)
    }

    /// Takes note of the node of a cluster that owns the key of a call, where the answer names it: the call had no effect, and is to
    /// be made there. False where the answer says something else.
    pub(super) fn moved(&self, error: &RedisError) -> bool {
        // Of a transaction each command is sent there.
        let errors = error.clone().into_server_errors().unwrap_or_default();
        let mut errors = errors.iter().map(|(_, error)| RedisError::from(error.clone()));
        let moved = errors.find(|error| error.kind() == ErrorKind::Server(ServerErrorKind::Moved));
        let Some(moved) = moved.filter(|_| !matches!(self.address, Address::Sentinels(_))) else { return false };
        self.is_cluster.store(true, Ordering::Relaxed);
        let mut owner = self.owner();
        let asked = owner.take().unwrap_or_else(|| self.named()[0].clone());
        *owner = moved.redirect_node().and_then(|(node, _)| node_named(node, &asked));
        owner.is_some()
    }

    /// Takes note that a call failed.
    pub(super) fn failed(&self) {
        *self.owner() = None;
    }

    /// What the operator is to write, where the URL names one server and that belongs to a cluster.
    pub(super) fn advice(&self) -> Option<String> {
        let Address::Server(_) = self.address else { return None };
        self.is_cluster.load(Ordering::Relaxed).then(|| {
            "the server of lease.url is a node of a cluster: without it no replica finds the others. Name several nodes: \
             redis+cluster://HOST:PORT,HOST:PORT, or rediss+cluster:// over TLS"
                .to_owned()
        })
    }

    fn owner(&self) -> MutexGuard<'_, Option<ConnectionInfo>> {
        self.owner.lock()
    }

    /// The error of a call on a new connection, in the server's own words where it takes no connection of this client. To hear
    /// them takes one more connection, so that is not done for each of many calls.
    pub(super) async fn explained(&self, error: RedisError) -> RedisError {
        match &self.address {
            Address::Server(info) if error.is_connection_dropped() && self.may_ask_why() => {
                turned_away::why(info.addr()).await.unwrap_or(error)
            }
            Address::Server(_) | Address::Sentinels(_) | Address::Cluster(_) => error,
        }
    }

    fn may_ask_why(&self) -> bool {
        let mut asked = self.asked_why.lock();
        let may = asked.is_none_or(|asked| asked.elapsed() >= WHY_AGAIN);
        if may {
            *asked = Some(Instant::now());
        }
        may
    }

    /// A connection for a subscription.
    pub(super) async fn listen(&self) -> RedisResult<PubSub> {
        if let Address::Sentinels(known) = &self.address {
            return self.elected(known).await?.0.get_async_pubsub().await;
        }
        // Each node of a cluster passes on what is published at any.
        let ask = |node: &'_ ConnectionInfo| subscribe_to(self.client(node.clone()));
        Ok(self.first_that_answers(ask).await?.1)
    }

    /// Asks the servers of the URL, one after the other. Returns the place of the first that answers, and its answer. The turn passes
    /// to the one after it, also where a call is given up here, so that impatient callers reach all of them too.
    async fn first_that_answers<'a, T, A>(&'a self, ask: impl Fn(&'a ConnectionInfo) -> A) -> RedisResult<(usize, T)>
    where
        A: Future<Output = RedisResult<T>>,
    {
        let named = self.named();
        let first = self.turn.load(Ordering::Relaxed);
        let mut error = RedisError::from((ErrorKind::Io, "no server was asked"));
        for place in (0..named.len()).map(|offset| (first + offset) % named.len()) {
            self.turn.store((place + 1) % named.len(), Ordering::Relaxed);
            match ask(&named[place]).await {
                Ok(answer) => return Ok((place, answer)),
                Err(why) => error = why,
            }
        }
        Err(error)
    }

    /// Asks one sentinel after the other for the primary, and then asks the primary whether it is one. A sentinel that
    /// was cut off still names the last primary that it knew.
    async fn elected(&self, known: &Sentinels) -> RedisResult<(Client, MultiplexedConnection)> {
        let (place, found) = self.first_that_answers(|sentinel| self.named_by(sentinel, known)).await?;
        self.turn.store(place, Ordering::Relaxed);
        Ok(found)
    }

    /// The primary that one sentinel names.
    async fn named_by(
        &self,
        sentinel: &ConnectionInfo,
        known: &Sentinels,
    ) -> RedisResult<(Client, MultiplexedConnection)> {
        let asking = async {
            let mut connection = connect(&self.client(sentinel.clone())?).await?;
            let mut ask = redis::cmd("SENTINEL");
            ask.arg("get-master-addr-by-name").arg(&known.service);
            ask.query_async::<Option<(String, u16)>>(&mut connection).await
        };
        let named = tokio::time::timeout(TIMEOUT, asking).await.unwrap_or_else(|_| Err(timed_out()))?;
        let (host, port) =
            named.ok_or((ErrorKind::MasterNameNotFoundBySentinel, "no such service", known.service.clone()))?;
        let client = self.client(reached_as(sentinel, host, port).set_redis_settings(known.server.clone()))?;
        let mut connection = connect(&client).await?;
        match redis::cmd("ROLE").query_async(&mut connection).await? {
            Role::Primary { .. } => Ok((client, connection)),
            _ => {
                Err((ErrorKind::MasterNameNotFoundBySentinel, "the server that a sentinel names is no primary").into())
            }
        }
    }

    /// Says that a call got no answer.
    pub(super) fn distrust(&self) {
        self.failed();
        self.silences.send_replace(());
    }

    /// Changes where a call gets no answer. A subscription asks nothing, so it is not found out by itself.
    pub(super) fn silences(&self) -> watch::Receiver<()> {
        self.silences.subscribe()
    }

    fn client(&self, info: ConnectionInfo) -> RedisResult<Client> {
        let info = tuned(info, self.ttl);
        match &self.certificates {
            Some(certificates) => Client::build_with_tls(info, certificates.clone()),
            None => Client::open(info),
        }
    }
}

/// Finds dead connections by the network's own means, without a command: within the time to live of the lease, where that is
/// 3 s and more. A proxy between takes what is sent, so calls have time limits too. Sends no more than needed when
/// connecting.
fn tuned(info: ConnectionInfo, ttl: Duration) -> ConnectionInfo {
    let each = (ttl / (PROBES + 1)).clamp(SHORTEST, KEEPALIVE);
    let keepalive = TcpKeepalive::new().with_time(each).with_interval(each).with_retries(PROBES);
    let tcp = info.tcp_settings().clone().set_user_timeout(each * (PROBES + 1));
    let redis = info.redis_settings().clone().set_skip_set_lib_name();
    info.set_redis_settings(redis).set_tcp_settings(tcp.set_nodelay(true).set_keepalive(keepalive))
}

async fn connect_to(client: RedisResult<Client>) -> RedisResult<MultiplexedConnection> {
    connect(&client?).await
}

async fn subscribe_to(client: RedisResult<Client>) -> RedisResult<PubSub> {
    client?.get_async_pubsub().await
}

async fn connect(client: &Client) -> RedisResult<MultiplexedConnection> {
    let config = AsyncConnectionConfig::new().set_connection_timeout(Some(TIMEOUT)).set_response_timeout(Some(TIMEOUT));
    client.get_multiplexed_async_connection_with_config(&config).await
}

pub(super) fn timed_out() -> RedisError {
    RedisError::from(std::io::Error::from(std::io::ErrorKind::TimedOut))
}
