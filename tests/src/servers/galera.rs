//! Galera: nodes of MariaDB, each of which has what any of them committed
//! (<https://mariadb.com/docs/galera-cluster/reference/galera-cluster-system-variables>).

use std::path::Path;

use super::mariadb::MariaDb;
use super::server::free_port;
use crate::eventually::{PATIENCE, eventually};

/// Galera, as Debian's package galera-4 has it.
const PROVIDER: &str = "/usr/lib/galera/libgalera_smm.so";

/// Three nodes of one cluster.
#[derive(Debug)]
pub struct Galera {
    /// In the order in which they came.
    pub nodes: [MariaDb; 3],
}

impl Galera {
    /// Starts them, and waits until each knows the others. None where the server is MySQL.
    ///
    /// # Panics
    /// Where the package galera-4 is missing.
    pub async fn start() -> Option<Self> {
        let meeting_point = free_port();
        let first = MariaDb::start_with(options("one", meeting_point, "")).await?;
        let joined = format!("127.0.0.1:{meeting_point}");
        let second = MariaDb::start_with(options("two", free_port(), &joined)).await?;
        let third = MariaDb::start_with(options("three", free_port(), &joined)).await?;
        let cluster = Self { nodes: [first, second, third] };
        for node in &cluster.nodes {
            let has_joined = async || {
                let (size, state) = (node.status("wsrep_cluster_size").await, node.status("wsrep_local_state").await);
                (size == "3" && state == "4").then_some(())
            };
            eventually("a node of Galera is in step with two others", PATIENCE, has_joined).await;
        }
        Some(cluster)
    }
}

impl MariaDb {
    /// A node of Galera, in a cluster of its own. It says of itself what a node of three does. None where the server is MySQL.
    ///
    /// # Panics
    /// Where the package galera-4 is missing.
    pub async fn node(name: &'static str) -> Option<Self> {
        Self::start_with(options(name, 0, "")).await
    }

    /// Has the other nodes fall behind this one for some seconds: they find the rows of a table without a key one by one, and what is
    /// committed later waits behind them.
    pub async fn leaves_others_behind(&self) {
        self.run(
            "CREATE DATABASE IF NOT EXISTS slow; CREATE OR REPLACE TABLE slow.without_a_key (n integer NOT NULL); \
             INSERT INTO slow.without_a_key SELECT seq FROM slow.seq_1_to_7000; UPDATE slow.without_a_key SET n = -n",
        )
        .await;
    }

    /// Whether this node has yet to apply what others committed.
    pub async fn lags(&self) -> bool {
        self.status("wsrep_local_recv_queue").await != "0"
    }

    async fn status(&self, name: &str) -> String {
        let question = format!(
            "SELECT CAST(VARIABLE_VALUE AS CHAR) FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = '{name}'"
        );
        self.answer(&question).await
    }
}

/// The options of a node that speaks to the others at this port, and joins those at this address. One that lags does not hold up the
/// others (`gcs.fc_limit`).
fn options(name: &str, port: u16, others: &str) -> String {
    assert!(Path::new(PROVIDER).exists(), "Galera is missing: apt-get install galera-4");
    let [state, changes] = [(); 2].map(|()| free_port());
    format!(
        "--wsrep-on=ON --wsrep-provider={PROVIDER} --wsrep-cluster-address=gcomm://{others} --wsrep-node-name={name} \
         --wsrep-node-address=127.0.0.1 --wsrep-sst-receive-address=127.0.0.1:{state} --binlog-format=ROW \
         --innodb-autoinc-lock-mode=2 \
         --wsrep-provider-options='gmcast.listen_addr=tcp://127.0.0.1:{port};ist.recv_addr=127.0.0.1:{changes};\
         gcs.fc_limit=100000;pc.wait_prim=no'"
    )
}
