//! The names of the metrics: an outside contract, so they live in one place.

/// A metric. Prometheus and OTLP show the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// Attempts by channel and outcome.
    Attempts,
    /// How long an attempt takes, by channel.
    AttemptDuration,
    /// The time from a message's creation to its acceptance, by channel.
    DeliveryLatency,
    /// Rows by channel and status.
    Messages,
    /// Messages that died of a fault in their channel's set-up.
    Misconfigured,
    /// Attempts at a payload that was encoded twice, by channel.
    EncodedTwice,
    /// Age of the oldest due message, by channel.
    Lag,
    /// Due messages of the tenants that have most of them.
    TenantDue,
    /// Age of their oldest due message.
    TenantLag,
    /// Ordering keys that a dead letter halts, by channel.
    HaltedKeys,
    /// Messages claimed here and not yet marked.
    InFlight,
    /// Due messages that the poller knows of and does not send yet, by the reason.
    Waiting,
    /// Whether this process holds a shard's lease.
    LeaseHeld,
    /// Terms that ended here, by shard and reason.
    Terms,
    /// The epoch of the newest term of this process, by shard.
    Epoch,
    /// How much longer this process may send without a renewal, by shard.
    Trusted,
    /// Marks refused because the row had moved on.
    FencedMarks,
    /// Messages that went out and that a failover lost.
    LostInFailover,
    /// Rows found in doubt, by the policy that decided them.
    InDoubt,
    /// How long a poll takes.
    PollDuration,
    /// Destinations that are paused.
    DestinationPaused,
    /// Messages removed because they were past their retention, by status.
    Pruned,
    /// How far the oldest message is past its retention.
    RetentionLag,
    /// Alerts that this process told, or could not tell.
    Alerts,
    /// Whether a run of a job goes on.
    JobRunning,
    /// Whether a job has not run for too long.
    JobLate,
    /// When a run of a job last succeeded.
    JobLastSuccess,
    /// How long the last run of a job took.
    JobLastDuration,
    /// Runs of jobs by how they ended.
    JobRuns,
    /// Runs of jobs that somebody let be.
    JobSkips,
    /// Whether the fleet does its work, as this process sees it.
    Ready,
    /// Connections to the outbox database, by pool and state.
    DatabaseConnections,
    /// The version of this program.
    BuildInfo,
    /// The settings that all replicas must share.
    SettingsInfo,
    /// Whether the settings that were read last are in force.
    ReloadSuccessful,
    /// When settings were last read and taken up.
    ReloadedAt,
}

impl Name {
    /// All metrics.
    pub const ALL: [Self; 36] = [
        Self::Attempts,
        Self::AttemptDuration,
        Self::DeliveryLatency,
        Self::Messages,
        Self::Misconfigured,
        Self::EncodedTwice,
        Self::Lag,
        Self::TenantDue,
        Self::TenantLag,
        Self::HaltedKeys,
        Self::InFlight,
        Self::Waiting,
        Self::LeaseHeld,
        Self::Terms,
        Self::Epoch,
        Self::Trusted,
        Self::FencedMarks,
        Self::LostInFailover,
        Self::InDoubt,
        Self::PollDuration,
        Self::DestinationPaused,
        Self::Pruned,
        Self::RetentionLag,
        Self::Alerts,
        Self::JobRunning,
        Self::JobLate,
        Self::JobLastSuccess,
        Self::JobLastDuration,
        Self::JobRuns,
        Self::JobSkips,
        Self::Ready,
        Self::DatabaseConnections,
        Self::BuildInfo,
        Self::SettingsInfo,
        Self::ReloadSuccessful,
        Self::ReloadedAt,
    ];

    /// The name in Prometheus and OTLP.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Attempts => "outbox_attempts_total",
            Self::AttemptDuration => "outbox_attempt_duration_seconds",
            Self::DeliveryLatency => "outbox_delivery_latency_seconds",
            Self::Messages => "outbox_messages",
            Self::Misconfigured => "outbox_misconfigured_total",
            Self::EncodedTwice => "outbox_encoded_twice_total",
            Self::Lag => "outbox_lag_seconds",
            Self::TenantDue => "outbox_tenant_due",
            Self::TenantLag => "outbox_tenant_lag_seconds",
            Self::HaltedKeys => "outbox_halted_keys",
            Self::InFlight => "outbox_in_flight",
            Self::Waiting => "outbox_waiting",
            Self::LeaseHeld => "outbox_lease_held",
            Self::Terms => "outbox_terms_total",
            Self::Epoch => "outbox_epoch",
            Self::Trusted => "outbox_trusted_seconds",
            Self::FencedMarks => "outbox_fenced_marks_total",
            Self::LostInFailover => "outbox_lost_in_failover_total",
            Self::InDoubt => "outbox_in_doubt_total",
            Self::PollDuration => "outbox_poll_duration_seconds",
            Self::DestinationPaused => "outbox_destination_paused",
            Self::Pruned => "outbox_pruned_total",
            Self::RetentionLag => "outbox_retention_lag_seconds",
            Self::Alerts => "outbox_alerts_total",
            Self::JobRunning => "outbox_job_running",
            Self::JobLate => "outbox_job_late",
            Self::JobLastSuccess => "outbox_job_last_success_timestamp_seconds",
            Self::JobLastDuration => "outbox_job_last_duration_seconds",
            Self::JobRuns => "outbox_job_runs_total",
            Self::JobSkips => "outbox_job_skips_total",
            Self::Ready => "outbox_ready",
            Self::DatabaseConnections => "outbox_database_connections",
            Self::BuildInfo => "outbox_build_info",
            Self::SettingsInfo => "outbox_settings_info",
            Self::ReloadSuccessful => "outbox_config_reload_successful",
            Self::ReloadedAt => "outbox_config_reload_success_timestamp_seconds",
        }
    }

    /// The help text beside the name.
    pub fn help(self) -> &'static str {
        match self {
            Self::Attempts => "Attempts to deliver, by outcome.",
            Self::AttemptDuration => "From the gate to the last byte of the answer.",
            Self::DeliveryLatency => "From created_at to the other side's acceptance.",
            Self::Messages => "Rows of the outbox that are PENDING, and those that are DEAD.",
            Self::Misconfigured => "Messages that died of how their channel is set up, not of what is in them.",
            Self::EncodedTwice => {
                "Attempts at a payload that is a JSON string holding JSON: its application encoded it twice."
            }
            Self::Lag => "Age of the oldest due message.",
            Self::TenantDue => "Due messages of the five tenants with most of what has been due for longest.",
            Self::TenantLag => "Age of the oldest due message of each of these tenants.",
            Self::HaltedKeys => {
                "At least so many ordering keys are halted by a dead letter: up to 1,000, by the first 10,000 dead letters of the channel."
            }
            Self::InFlight => "Messages claimed by this process and not yet marked.",
            Self::Waiting => {
                "Due messages that the schedule of this poller holds and does not send yet, by the reason: the database may have more."
            }
            Self::LeaseHeld => "1 while this process holds the shard's lease, else 0.",
            Self::Terms => "Terms of this process that have ended, by reason.",
            Self::Epoch => "Epoch of the newest term of this process.",
            Self::Trusted => "How much longer this process may start sends if no renewal succeeds; 0 without a term.",
            Self::FencedMarks => "Marks refused because the row had moved on.",
            Self::LostInFailover => "Messages that went out and that a failover of the database lost.",
            Self::InDoubt => "Rows found in doubt, by what was done with them.",
            Self::PollDuration => "One poll: the statements that find and claim what is due.",
            Self::DestinationPaused => {
                "1 for each destination that takes nothing for now: a hundred at most. Those that asked for their pause themselves come last."
            }
            Self::Pruned => "Messages removed because they were past their retention.",
            Self::RetentionLag => {
                "While this process leads: for how long at most a message has been past its retention and not removed."
            }
            Self::Alerts => "Alerts that this process posted to the webhook of alerts.url, or could not post.",
            Self::JobRunning => "1 for each job of which a run goes on, else 0.",
            Self::JobLate => "1 for each job that is late, else 0: it has not run for twice its --per or --every.",
            Self::JobLastSuccess => "When a run of the job last succeeded, in seconds since 1970.",
            Self::JobLastDuration => "How long the last run of the job took.",
            Self::JobRuns => "Runs of the job, by how they ended. Of the first hundred jobs by name, as all of these.",
            Self::JobSkips => "Runs of the job that were let be: another had the seat, or it was too early.",
            Self::Ready => "1 while /readyz of this process says that the fleet does its work, else 0.",
            Self::DatabaseConnections => {
                "Connections to the outbox database, of each pool of this process: at work, idle, and those that it may still open."
            }
            Self::BuildInfo => "1; the label says which version this process is of.",
            Self::SettingsInfo => {
                "1; the labels have the hash of the settings that all replicas must share, and the kind of lease store."
            }
            Self::ReloadSuccessful => {
                "1 while the settings that this process read last are in force, 0 where it refused them."
            }
            Self::ReloadedAt => {
                "When this process last took up settings, in seconds since 1970: at its start or at a SIGHUP."
            }
        }
    }
}
