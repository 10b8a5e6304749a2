//! Group Replication: members of MySQL, one of which takes writes
//! (<https://dev.mysql.com/doc/refman/9.7/en/group-replication.html>).

use super::binaries::plugin;
use super::mariadb::{MariaDb, PROGRAM};
use super::server::free_port;
use crate::eventually::{PATIENCE, eventually};

/// Three members of one group.
#[derive(Debug)]
pub struct Group {
    /// In the order in which they came; the first is the primary at first.
    pub members: [MariaDb; 3],
}

impl Group {
    /// Starts them, and waits until each has joined. None where the server is MariaDB, or has no such plugin.
    pub async fn start() -> Option<Self> {
        plugin(&PROGRAM.find(&[]), "group_replication.so")?;
        let ports = [(); 3].map(|()| free_port());
        let seeds = ports.map(|port| format!("127.0.0.1:{port}")).join(",");
        let [first, second, third] = ports.map(|port| MariaDb::start_also_with(options(port, &seeds)));
        let (first, second, third) = tokio::join!(first, second, third);
        first.run("SET GLOBAL group_replication_bootstrap_group = ON; START GROUP_REPLICATION").await;
        first.run("SET GLOBAL group_replication_bootstrap_group = OFF").await;
        for member in [&second, &third] {
            member.run("START GROUP_REPLICATION USER = 'outbox'").await;
        }
        let online = async || (first.answer(&members("MEMBER_STATE = 'ONLINE'")).await == "3").then_some(());
        eventually("each member of the group is online", PATIENCE, online).await;
        Some(Self { members: [first, second, third] })
    }

    /// The member that has taken the place of the first, once there is one.
    pub async fn successor(&self) -> &MariaDb {
        let [_, others @ ..] = &self.members;
        let elected = async || {
            for member in others {
                let is_primary = "MEMBER_ROLE = 'PRIMARY' AND MEMBER_STATE = 'ONLINE' AND MEMBER_ID = @@server_uuid";
                if member.answer(&members(is_primary)).await == "1" {
                    return Some(member);
                }
            }
            None
        };
        eventually("the group has another primary", PATIENCE, elected).await
    }
}

/// Counts members as the asked one sees them.
fn members(which: &str) -> String {
    format!("SELECT CAST(COUNT(*) AS CHAR) FROM performance_schema.replication_group_members WHERE {which}")
}

/// The options of a member that speaks to the others at this port. The tables of tests have no keys, and a group wants one.
fn options(port: u16, seeds: &str) -> String {
    format!(
        "--log-bin --server-id={port} --gtid-mode=ON --enforce-gtid-consistency=ON --report-host=127.0.0.1 \
         --sql-generate-invisible-primary-key=ON --plugin-load-add=group_replication.so \
         --group-replication-group-name=5b3a5a55-6b2c-4a51-9d5c-1f0e1c6b2f00 \
         --group-replication-local-address=127.0.0.1:{port} --group-replication-group-seeds={seeds} \
         --group-replication-start-on-boot=OFF --group-replication-single-primary-mode=ON \
         --group-replication-consistency=BEFORE_ON_PRIMARY_FAILOVER"
    )
}
