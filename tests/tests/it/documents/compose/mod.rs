//! docker-compose.yml, Dockerfile and docker/outbox.toml, checked without an engine: there may be none at hand.

mod push;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use outbox_adapters::http;
use outbox_config::{Config, LeaseProvider, Sources};
use serde::Deserialize;
use yaml_serde::Value;

const IMAGE: &str = "outbox";

/// The parts of <https://github.com/compose-spec/compose-spec/blob/main/spec.md> that the file uses. A key that is
/// not here is a slip of the pen or a new part, to be added with a check of its own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Compose {
    name: String,
    services: BTreeMap<String, Service>,
    networks: BTreeMap<String, Network>,
    volumes: BTreeMap<String, BTreeMap<String, String>>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Service {
    image: String,
    build: Option<String>,
    pull_policy: Option<String>,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    #[serde(default)]
    volumes: Vec<String>,
    #[serde(default)]
    ports: Vec<String>,
    #[serde(default)]
    depends_on: BTreeMap<String, Dependency>,
    healthcheck: HealthCheck,
    restart: String,
    stop_grace_period: Option<String>,
    #[serde(default)]
    read_only: bool,
    #[serde(default)]
    cap_drop: Vec<String>,
    #[serde(default)]
    security_opt: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Dependency {
    condition: Condition,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Condition {
    ServiceHealthy,
    ServiceCompletedSuccessfully,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
enum HealthCheck {
    Disabled(Disabled),
    Asked(Asked),
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Disabled {
    disable: bool,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    test: Vec<String>,
    interval: String,
    timeout: String,
    retries: u32,
    start_period: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Network {
    ipam: AddressManagement,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AddressManagement {
    config: Vec<Subnet>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Subnet {
    subnet: String,
}

impl Service {
    fn runs_once(&self) -> bool {
        self.restart == "no"
    }

    fn is_dispatcher(&self) -> bool {
        self.image == IMAGE && self.command == ["run"]
    }

    /// The folder of this repository that it has for reading at `target`.
    fn folder_at(&self, target: &Path) -> Option<PathBuf> {
        let parts = self.volumes.iter().map(|volume| volume.split(':').collect::<Vec<_>>());
        let mut here = parts.filter_map(|parts| match parts[..] {
            [from, to, "ro"] if Path::new(to) == target => from.strip_prefix("./").map(PathBuf::from),
            _ => None,
        });
        here.next()
    }
}

fn in_repository(path: impl AsRef<Path>) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn text(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(in_repository(path)).unwrap()
}

/// The file as an engine sees it: merge keys applied, extensions gone.
fn compose() -> Compose {
    let mut whole: Value = yaml_serde::from_str(&text("docker-compose.yml")).unwrap();
    whole.apply_merge().unwrap();
    let extension = |key: &Value| key.as_str().is_some_and(|key| key.starts_with("x-"));
    whole.as_mapping_mut().unwrap().retain(|key, _| !extension(key));
    yaml_serde::from_value(whole).unwrap()
}

fn dispatchers(compose: &Compose) -> Vec<(&String, &Service)> {
    compose.services.iter().filter(|(_, service)| service.is_dispatcher()).collect()
}

/// The settings of a service of ours, read by the program's own code from the file that its variables name, in a folder
/// that it mounts.
fn settings(service: &Service) -> Config {
    let file = service.environment.get("OUTBOX_CONFIG").map(|named| {
        let named = Path::new(named);
        let folder =
            service.folder_at(named.parent().unwrap()).unwrap_or_else(|| panic!("{} is not mounted", named.display()));
        (named.to_owned(), text(folder.join(named.file_name().unwrap())))
    });
    let environment = service.environment.clone().into_iter().collect();
    Config::load(&Sources { file, environment, flags: Vec::new() }).unwrap()
}

#[test]
fn every_service_of_the_compose_file_stays_up_and_says_how_it_is_or_runs_once() {
    for (name, service) in compose().services {
        match &service.healthcheck {
            HealthCheck::Disabled(disabled) => assert!(disabled.disable && service.runs_once(), "{name}"),
            HealthCheck::Asked(asked) => {
                // Docker takes a signal that a person sends for the wish that the container stay down; `always` goes on.
                let wanted = if service.is_dispatcher() { "always" } else { "unless-stopped" };
                assert_eq!(service.restart, wanted, "{name}");
                assert!(asked.retries > 0, "{name}");
                let asks = matches!(asked.test.as_slice(), [how, _, ..] if how == "CMD" || how == "CMD-SHELL");
                assert!(asks, "{name} is asked {:?}", asked.test);
            }
        }
    }
}

#[test]
fn a_service_of_the_compose_file_waits_only_for_what_can_come_about() {
    let compose = compose();
    for (name, service) in &compose.services {
        for (awaited, dependency) in &service.depends_on {
            let Some(other) = compose.services.get(awaited) else {
                panic!("{name} waits for {awaited}: no such service")
            };
            let once = dependency.condition == Condition::ServiceCompletedSuccessfully;
            assert_eq!(other.runs_once(), once, "{name} waits for {awaited} to be {:?}", dependency.condition);
        }
    }
    for (name, dispatcher) in dispatchers(&compose) {
        assert!(dispatcher.depends_on.contains_key("migrate"), "{name} would start before there are tables");
        assert!(dispatcher.depends_on.contains_key("fcm"), "{name} would start before there is a key file");
        let HealthCheck::Asked(health) = &dispatcher.healthcheck else { panic!("{name} is not asked") };
        assert_eq!(health.test, ["CMD", "outbox", "health", "--ready"], "{name} would be green and deliver nothing");
    }
}

#[test]
fn the_compose_file_publishes_ports_on_loopback_only_and_none_twice() {
    let mut published = BTreeSet::new();
    for (name, service) in compose().services {
        for port in service.ports {
            let parts: Vec<_> = port.split(':').collect();
            let [address, outside, inside] = parts[..] else { panic!("{name}: {port} is not address:outside:inside") };
            assert_eq!(address, "127.0.0.1", "{name}");
            assert!(inside.parse::<u16>().is_ok(), "{name}: {port}");
            assert!(published.insert(outside.parse::<u16>().unwrap()), "{name}: {outside} is published twice");
        }
    }
}

#[test]
fn the_three_dispatchers_of_the_compose_file_differ_in_their_ports_only() {
    let compose = compose();
    let dispatchers: Vec<_> = dispatchers(&compose).into_iter().map(|(_, service)| service).collect();
    assert_eq!(dispatchers.len(), 3);
    let portless = |service: &Service| Service { ports: Vec::new(), ..service.clone() };
    for dispatcher in &dispatchers {
        assert_eq!(portless(dispatcher), portless(dispatchers[0]));
    }
}

#[test]
fn the_settings_of_the_compose_file_are_accepted_by_the_program_and_fit_its_services() {
    let compose = compose();
    let ours = compose.services.iter().filter(|(_, service)| service.image == IMAGE);
    for (name, service) in ours {
        assert!(service.environment.keys().all(|variable| variable.starts_with("OUTBOX_")), "{name}");
        for url in service.environment.values().filter_map(|value| reqwest::Url::parse(value).ok()) {
            let host = url.host_str().unwrap_or_default();
            assert!(compose.services.contains_key(host), "{name}: there is no service {host:?}");
        }
        settings(service);
    }
    let (_, dispatcher) = dispatchers(&compose)[0];
    let config = settings(dispatcher);
    assert!(matches!(config.lease.provider, LeaseProvider::Redis { .. }));
    assert!(config.admin.listen.ip().is_unspecified(), "the published port would lead nowhere");
    let grace = dispatcher.stop_grace_period.as_deref().unwrap().trim_end_matches('s').parse::<u64>().unwrap();
    assert!(config.dispatch.drain_timeout.as_secs() < grace, "the engine would kill it while it drains");
}

#[test]
fn the_channel_of_the_compose_file_reaches_the_receiver_and_no_other_private_network() {
    let compose = compose();
    let (_, dispatcher) = dispatchers(&compose)[0];
    let config = settings(dispatcher);
    let channel: &http::Settings = config.channels["http"].settings.downcast_ref().unwrap();
    let base = reqwest::Url::parse(&channel.base_url).unwrap();
    let receiver = &compose.services[base.host_str().unwrap()];
    let listens = format!("0.0.0.0:{}", base.port().unwrap());
    assert_eq!(receiver.command, ["demo", "receiver", "--listen", &listens]);
    assert_eq!(texts(&channel.allow_networks), subnets(&compose));
}

fn subnets(compose: &Compose) -> Vec<String> {
    compose.networks["default"].ipam.config.iter().map(|config| config.subnet.clone()).collect()
}

fn texts(networks: &[impl ToString]) -> Vec<String> {
    networks.iter().map(ToString::to_string).collect()
}

#[test]
fn services_of_ours_run_images_that_are_built_once_without_rights_they_do_not_need() {
    let compose = compose();
    assert_eq!(compose.name, IMAGE);
    let builds = compose.services.values().filter(|service| service.build.is_some());
    assert_eq!(
        builds.map(|service| (&*service.image, service.build.as_deref())).collect::<Vec<_>>(),
        [(IMAGE, Some("."))]
    );
    for (name, service) in compose.services.iter().filter(|(_, service)| service.image == IMAGE) {
        assert_eq!(service.pull_policy.as_deref(), Some("never"), "{name} would run somebody else's image");
        assert!(service.read_only, "{name}");
        assert_eq!(service.cap_drop, ["ALL"], "{name}");
        assert_eq!(service.security_opt, ["no-new-privileges:true"], "{name}");
    }
    let mounted: BTreeSet<_> = compose.services.values().flat_map(|service| &service.volumes).collect();
    for mount in mounted.into_iter().filter(|mount| !mount.starts_with("./")) {
        assert!(compose.volumes.contains_key(mount.split(':').next().unwrap()), "{mount}: no such volume");
    }
}

/// What the last line of Dockerfile with that word says.
fn said(word: &str) -> Option<String> {
    let dockerfile = text("Dockerfile");
    dockerfile.lines().rev().find_map(|line| line.strip_prefix(word)).map(|rest| rest.trim().to_owned())
}

#[test]
fn the_image_runs_as_nobody_in_particular_and_is_stopped_by_one_signal_only() {
    let user = said("USER ").unwrap();
    assert_ne!(user.split(':').next().unwrap().parse::<u32>().unwrap(), 0);
    assert_eq!(said("ENTRYPOINT ").as_deref(), Some(r#"["outbox"]"#));
    assert_eq!(said("CMD ").as_deref(), Some(r#"["run"]"#));
    assert_eq!(said("STOPSIGNAL ").as_deref(), Some("SIGTERM"), "a SIGHUP by Docker would switch the restarts off");
}
