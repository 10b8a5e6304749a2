//! What a person meets: the order of the sources, what they mean, the effective settings.
#![allow(clippy::unwrap_used)]

mod made_up;
mod recurring;
mod refused;

use std::time::Duration;

use outbox_store::{InDoubtPolicy, OnDeadOrdered};
use proptest::prelude::*;

use outbox_adapters::http::{
    Auth, AuthTo, CloudEvents, IdempotencyKey, Method, Secret, SecretPlace, Settings as HttpSettings, Statuses, Targets,
};

use super::*;

fn sources(file: &str, environment: &[(&str, &str)], flags: &[(&str, &str)]) -> Sources {
    let owned = |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    Sources {
        file: (!file.is_empty()).then(|| ("outbox.toml".into(), file.to_owned())),
        environment: owned(environment),
        flags: owned(flags),
    }
}

fn load(file: &str, environment: &[(&str, &str)], flags: &[(&str, &str)]) -> Result<Config, ConfigError> {
    Config::load(&sources(file, environment, flags))
}

fn from_file(file: &str) -> Config {
    load(file, &[], &[]).unwrap_or_else(|why| panic!("{why}"))
}

fn http<'a>(config: &'a Config, name: &str) -> &'a HttpSettings {
    config.channels[name].settings.downcast_ref().unwrap()
}

#[test]
fn who_looks_does_without_the_channels_that_are_wrong_and_hears_of_them_and_nothing_else_may_be_wrong() {
    let sources = |text: &str| Sources { file: Some(("outbox.toml".into(), text.to_owned())), ..Sources::default() };
    let channels = "[channels.right]\nkind = \"http\"\n[channels.wrong]\nkind = \"http\"\ntimeout = \"soon\"\n\
                    [channels.odd]\nkind = \"smtp\"\n";
    let database = "[database]\nurl = \"sqlite://x.db\"\n";
    let sources_of_both = sources(&format!("{database}{channels}"));
    assert!(Config::load(&sources_of_both).is_err());
    let (config, problems) = Config::load_without_wrong_channels(&sources_of_both).unwrap();
    assert_eq!(config.channels.keys().collect::<Vec<_>>(), ["right"]);
    let keys: Vec<_> = problems.iter().map(|problem| problem.key.as_str()).collect();
    assert_eq!(keys, ["channels.wrong.timeout", "channels.odd.kind"]);
    let more = sources(&format!("{database}[lease]\nttl = \"soon\"\n{channels}"));
    let refused = Config::load_without_wrong_channels(&more).unwrap_err();
    assert_eq!(refused, Config::load(&more).unwrap_err(), "all is told");
}

/// The channels that stay for who looks, and the keys of the settings that are wrong.
fn looked_at(channels: &str, environment: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
    let file = format!("[database]\nurl = \"sqlite://x.db\"\n{channels}");
    let (config, problems) = Config::load_without_wrong_channels(&sources(&file, environment, &[])).unwrap();
    let configured = config.settings.channels();
    assert_eq!(config.channels.keys().cloned().collect::<Vec<_>>(), configured);
    (configured, problems.into_iter().map(|problem| problem.key).collect())
}

#[test]
fn who_looks_keeps_a_channel_that_tells_its_outcomes_to_one_that_is_left_out() {
    let right =
        "[channels.right]\nkind = \"http\"\non_dead = { channel = \"ops\", target = \"https://ops.example\" }\n";
    for (wrong, key) in [
        ("kind = \"smtp\"", "channels.ops.kind"),
        ("timeout = \"1s\"", "channels.ops.kind"),
        ("kind = \"http\"\ntimeout = \"soon\"", "channels.ops.timeout"),
        ("kind = \"http\"\nbase_url = \"ftp://x\"", "channels.ops.base_url"),
    ] {
        let told = looked_at(&format!("{right}[channels.ops]\n{wrong}"), &[]);
        assert_eq!(told, (vec!["right".to_owned()], vec![key.to_owned()]), "{wrong}");
    }
    let (kept, told) = looked_at(right, &[("OUTBOX_CHANNELS__OPS__KIND", "'http'")]);
    assert_eq!((kept, told), (vec!["right".to_owned()], vec!["channels.ops.kind".to_owned()]));
}

#[test]
fn who_looks_hears_of_all_channels_that_are_wrong_at_once() {
    let wrong = "[channels.a]\nkind = \"http\"\ntimeout = \"soon\"\n[channels.b]\nkind = \"http\"\n\
                 on_dead = { channel = \"gone\", target = \"https://x.example\" }\n[channels.c]\nkind = \"http\"\n";
    let told = vec!["channels.a.timeout".to_owned(), "channels.b.on_dead.channel".to_owned()];
    assert_eq!(looked_at(wrong, &[]), (vec!["c".to_owned()], told));
}

#[test]
fn who_looks_does_without_a_channel_whose_name_is_wrong() {
    for name in ["a.b", "a b", "\\\""] {
        let (kept, told) =
            looked_at(&format!("[channels.right]\nkind = \"http\"\n[channels.\"{name}\"]\nkind = \"http\""), &[]);
        assert_eq!((kept, told.len()), (vec!["right".to_owned()], 1), "{name}: {told:?}");
    }
}

#[test]
fn where_every_channel_is_wrong_who_looks_has_none_and_not_that_of_the_first_try() {
    let (kept, told) = looked_at("[channels.a]\nkind = \"smtp\"", &[]);
    assert_eq!((kept, told), (Vec::new(), vec!["channels.a.kind".to_owned()]));
}

#[test]
fn a_server_that_only_a_parameter_of_the_url_names_is_one() {
    for url in ["postgres://u:p@/shop?host=/cloudsql/a:b:c", "mysql://u:p@/shop?socket=/cloudsql/a:b:c"] {
        from_file(&format!("[database]\nurl = \"{url}\""));
    }
}

#[test]
fn with_no_setting_at_all_there_is_a_file_a_table_lease_and_a_channel_to_this_machine() {
    let config = load("", &[], &[]).unwrap();
    assert_eq!(config.database.url.expose(), "sqlite://outbox.db");
    assert_eq!(config.database.dialect, Dialect::Sqlite);
    assert_eq!((config.database.schema, config.database.environment.as_str()), (None, "default"));
    assert_eq!(config.lease.provider, LeaseProvider::Table);
    assert_eq!((config.lease.ttl, config.lease.term), (Duration::from_secs(10), Duration::from_secs(20)));
    assert_eq!(config.dispatch.wakeup, Wakeup::Off);
    assert_eq!((config.dispatch.max_in_flight, config.dispatch.max_bytes), (512, 64 << 20));
    let (poll_interval, drain_timeout) = (config.dispatch.poll_interval, config.dispatch.drain_timeout);
    assert_eq!((poll_interval, drain_timeout), (Duration::from_secs(1), Duration::from_secs(25)));
    let days = |days: u64| Some(Duration::from_hours(24 * days));
    assert_eq!((config.retention.success, config.retention.dead), (days(7), days(90)));
    assert_eq!((config.admin.listen.port(), config.admin.token), (8640, None));
    assert_eq!(config.channels.keys().collect::<Vec<_>>(), ["http"]);
    let channel = &config.channels["http"];
    assert_eq!((channel.timeout, channel.in_doubt), (Duration::from_secs(15), InDoubtPolicy::Resend));
    let retry = RetryConfig {
        max_attempts: 10,
        base: Duration::from_secs(5),
        factor: 2.0,
        max: Duration::from_hours(1),
        max_age: Duration::from_hours(72),
    };
    assert_eq!(channel.retry, retry);
}

#[test]
fn what_is_to_be_kept_for_ever_is_never_removed() {
    let config = load("[retention]\nsuccess = \"never\"\ndead = \"1d\"", &[], &[]).unwrap();
    assert_eq!((config.retention.success, config.retention.dead), (None, Some(Duration::from_hours(24))));
}

#[test]
fn the_implicit_channel_reaches_loopback_and_is_gone_with_the_first_channel_of_the_users() {
    let networks = |config: &Config, name| http(config, name).allow_networks.iter().map(ToString::to_string).collect();
    let implicit: Vec<String> = networks(&load("", &[], &[]).unwrap(), "http");
    assert_eq!(implicit, ["127.0.0.0/8", "::1/128"]);
    let config = load("", &[], &[]).unwrap();
    let denied = &http(&config, "http").deny_networks;
    let is_denied = |ip: &str| denied.iter().any(|net| net.contains(&ip.parse::<std::net::IpAddr>().unwrap()));
    for public in ["1.1.1.1", "93.184.215.14", "126.255.255.255", "128.0.0.1", "223.0.0.1", "2606:4700::1111"] {
        assert!(is_denied(public), "{public}");
    }
    assert!(!is_denied("127.0.0.1") && !is_denied("127.255.255.255") && !is_denied("::1"));
    for (file, environment) in
        [("[channels.hook]\nkind = \"http\"", vec![]), ("", vec![("OUTBOX_CHANNELS__HOOK__KIND", "http")])]
    {
        let config = load(file, &environment, &[]).unwrap();
        assert_eq!(config.channels.keys().collect::<Vec<_>>(), ["hook"]);
        assert!(http(&config, "hook").allow_networks.is_empty());
    }
}

#[test]
fn flags_win_over_the_environment_which_wins_over_the_file() {
    let file = "[lease]\nttl = \"3s\"\nterm = \"4s\"\n[dispatch]\nmax_in_flight = 1\n[retry]\nfactor = 3";
    let environment =
        [("OUTBOX_LEASE__TERM", "5s"), ("OUTBOX_DISPATCH__MAX_IN_FLIGHT", "2"), ("OUTBOX_RETRY__FACTOR", "1.5")];
    let config = load(file, &environment, &[("dispatch.max_in_flight", "3")]).unwrap();
    assert_eq!((config.lease.ttl, config.lease.term), (Duration::from_secs(3), Duration::from_secs(5)));
    assert_eq!(config.dispatch.max_in_flight, 3);
    assert!((config.channels["http"].retry.factor - 1.5).abs() < f64::EPSILON);
}

#[test]
fn a_variable_is_read_as_what_its_setting_may_be_whatever_the_channel_inherits() {
    let environment = [("OUTBOX_CHANNELS__HOOK__FACTOR", "1.5"), ("OUTBOX_CHANNELS__HOOK__RATE", "10")];
    let config = load("[retry]\nfactor = 3\n[channels.hook]\nkind = \"http\"", &environment, &[]).unwrap();
    assert!((config.channels["hook"].retry.factor - 1.5).abs() < f64::EPSILON);
    assert_eq!(config.channels["hook"].rate, Some(10.0));
}

#[test]
fn variables_that_are_none_of_ours_are_passed_over() {
    let environment = [
        ("OUTBOX_SERVICE_HOST", "10.0.0.1"),
        ("OUTBOX_PORT", "tcp://10.0.0.1:8640"),
        ("OUTBOX_CONFIG", "x.toml"),
        ("OUTBOX_TEST_POSTGRES", "/usr/bin"),
        ("OUTBOX_TEST_A__B", "x"),
        ("PATH", "/bin"),
    ];
    assert_eq!(load("", &environment, &[]).unwrap().to_json(), load("", &[], &[]).unwrap().to_json());
}

#[test]
fn lease_and_wakeup_follow_from_the_urls_unless_they_are_set() {
    let postgres = ("OUTBOX_DATABASE__URL", "postgres://app@db/shop");
    let redis = ("OUTBOX_LEASE__URL", "redis://cache");
    let config = load("", &[postgres, redis], &[]).unwrap();
    assert_eq!((config.database.dialect, config.dispatch.wakeup), (Dialect::Postgres, Wakeup::Notify));
    assert!(matches!(&config.lease.provider, LeaseProvider::Redis { url, .. } if url.expose() == "redis://cache"));
    let file = "[lease]\nprovider = \"table\"\n[dispatch]\nwakeup = \"off\"";
    let config = load(file, &[postgres, redis], &[]).unwrap();
    assert_eq!((config.lease.provider, config.dispatch.wakeup), (LeaseProvider::Table, Wakeup::Off));
    for (file, wakeup) in [("", Wakeup::Redis), ("[lease]\nprovider = \"table\"", Wakeup::Off)] {
        let config = load(file, &[("OUTBOX_DATABASE__URL", "mysql://app@db/shop"), redis], &[]).unwrap();
        assert_eq!(config.dispatch.wakeup, wakeup, "{file:?}");
    }
    let config = load("[dispatch]\nwakeup = \"redis\"", &[postgres, redis], &[]).unwrap();
    assert_eq!(config.dispatch.wakeup, Wakeup::Redis);
}

#[test]
fn every_scheme_of_a_supported_database_is_understood() {
    for (url, dialect) in [
        ("sqlite:///var/lib/outbox/outbox.db?mode=rwc", Dialect::Sqlite),
        ("sqlite://my dir/outbox.db", Dialect::Sqlite),
        ("postgres://u:p%40ss@db:5432/shop?sslmode=require", Dialect::Postgres),
        ("postgresql:///shop?host=/run/postgresql", Dialect::Postgres),
        ("mysql://u:p@db/shop", Dialect::MySql),
        ("mariadb://u@db:3307/shop", Dialect::MySql),
    ] {
        let config = load("", &[], &[("database.url", url)]).unwrap_or_else(|why| panic!("{url}: {why}"));
        assert_eq!((config.database.url.expose(), config.database.dialect), (url, dialect));
    }
}

#[test]
fn a_channel_overrides_the_retry_section_and_fcm_keeps_the_limits_of_google() {
    let config = from_file(
        "[retry]\nmax_attempts = 3\nbase = \"1s\"\nmax_age = \"2d\"\n\
         [channels.hook]\nkind = \"http\"\nmax_attempts = 4\nin_doubt = \"dead_letter\"\n\
         on_dead_ordered = \"halt\"\n\
         [channels.push]\nkind = \"fcm\"\nproject_id = \"shop\"",
    );
    let (hook, push) = (&config.channels["hook"], &config.channels["push"]);
    assert_eq!((hook.retry.max_attempts, hook.retry.base), (4, Duration::from_secs(1)));
    assert_eq!(hook.in_doubt, InDoubtPolicy::DeadLetter);
    assert_eq!((hook.on_dead_ordered, push.on_dead_ordered), (OnDeadOrdered::Halt, OnDeadOrdered::Continue));
    assert_eq!((push.retry.max_attempts, push.retry.base), (3, Duration::from_secs(10)));
    assert_eq!((push.retry.max_age, push.timeout), (Duration::from_hours(1), Duration::from_mins(1)));
}

#[test]
fn everything_an_http_channel_has_is_read() {
    let config = from_file(
        "[channels.hook]\nkind = \"http\"\nbase_url = \"https://hooks.example/v1\"\nmethod = \"PUT\"\n\
         idempotency_key = \"bare\"\ncloudevents = \"binary\"\nallow_networks = [\"10.0.0.0/8\", \"192.168.1.7\"]\ntls_ca = \"ca.pem\"\n\
         retry_statuses = [404, \"3xx\"]\ndead_statuses = \"501\"\nknown_statuses = 409\nknown_header = \"X-Seen\"\ndeny_networks = [\"10.1.0.0/16\"]\nhttps_only = true\nports = [443, 8443]\ntargets = \"paths\"\nrow_headers = [\"X-Tenant\"]\nauth_to = \"any\"\n\
         tls_cert = \"me.pem\"\ntls_key = \"me.key\"\nheaders = { X-Source = \"shop\" }\nauth = { basic = { user = \"me\", password = { env = \"HOOK\" } } }\n\
         signing_keys = [\"whsec_a\", { env = \"NEXT\" }, { file = \"old\" }]",
    );
    let hook = http(&config, "hook");
    assert_eq!((hook.base_url.as_str(), hook.method), ("https://hooks.example/v1", Method::Put));
    assert_eq!(hook.cloudevents, CloudEvents::Binary);
    assert_eq!((hook.idempotency_key, hook.tls_ca.as_str()), (IdempotencyKey::Bare, "ca.pem"));
    assert_eq!((hook.tls_cert.as_str(), hook.tls_key.as_str()), ("me.pem", "me.key"));
    assert_eq!(
        hook.allow_networks.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["10.0.0.0/8", "192.168.1.7/32"]
    );
    assert_eq!(hook.deny_networks, ["10.1.0.0/16".parse().unwrap()]);
    let said = |list: &[Statuses]| list.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    assert_eq!((said(&hook.retry_statuses).as_str(), said(&hook.dead_statuses).as_str()), ("404 3xx", "501"));
    assert_eq!((said(&hook.known_statuses).as_str(), hook.known_header.as_str()), ("409", "X-Seen"));
    assert_eq!((hook.https_only, hook.ports.as_slice()), (true, [443, 8443].as_slice()));
    assert_eq!((hook.targets, hook.auth_to), (Targets::Paths, AuthTo::Any));
    assert_eq!(hook.row_headers.as_deref(), Some(["X-Tenant".to_owned()].as_slice()));
    assert_eq!(hook.headers["X-Source"], "shop");
    assert_eq!(
        hook.auth,
        Some(Auth::Basic { user: "me".into(), password: Secret::SecretPlace(SecretPlace::Env("HOOK".into())) })
    );
    let kept = [SecretPlace::Env("NEXT".into()), SecretPlace::File("old".into())].map(Secret::SecretPlace);
    assert_eq!(hook.signing_keys, [&[Secret::Literal("whsec_a".into())], kept.as_slice()].concat());
}

#[test]
fn every_form_of_auth_is_read_and_none_shows_its_secret() {
    let literal = || Secret::Literal("s3cret".into());
    let kept = |kept| Auth::Bearer(Secret::SecretPlace(kept));
    for (written, read) in [
        ("{ bearer = \"s3cret\" }", Auth::Bearer(literal())),
        ("{ bearer = { env = \"A\" } }", kept(SecretPlace::Env("A".into()))),
        ("{ bearer = { file = \"a\" } }", kept(SecretPlace::File("a".into()))),
        ("{ basic = { user = \"u\", password = \"s3cret\" } }", Auth::Basic { user: "u".into(), password: literal() }),
        (
            "{ header = { name = \"X-Api-Key\", value = \"s3cret\" } }",
            Auth::Header { name: "X-Api-Key".into(), value: literal() },
        ),
    ] {
        let config = from_file(&format!("[channels.hook]\nkind = \"http\"\nauth_to = \"any\"\nauth = {written}"));
        assert_eq!(http(&config, "hook").auth, Some(read));
        let shown = format!("{:?}", http(&config, "hook"));
        assert!(!shown.contains("s3cret"), "{shown}");
    }
}

#[test]
fn a_channel_that_does_not_write_the_idempotency_key_may_have_that_header_itself() {
    let config = from_file(
        "[channels.hook]\nkind = \"http\"\nidempotency_key = \"off\"\nheaders = { Idempotency-Key = \"always the same\" }",
    );
    assert_eq!(http(&config, "hook").headers["Idempotency-Key"], "always the same");
}

#[test]
fn without_a_token_every_way_to_write_a_loopback_address_is_allowed() {
    for listen in ["127.0.0.1:8640", "127.8.8.8:8640", "[::1]:8640", "[::ffff:127.0.0.1]:8640"] {
        let config = from_file(&format!("[admin]\nlisten = \"{listen}\""));
        assert_eq!(config.admin.listen.to_string(), listen);
    }
}

#[test]
fn the_environment_can_say_lists_tables_and_secrets_of_a_channel_with_a_hyphen() {
    let environment = [
        ("OUTBOX_CHANNELS__MY_HOOK__ALLOW_NETWORKS", "10.0.0.0/8, ::1/128"),
        ("OUTBOX_CHANNELS__MY_HOOK__HEADERS__X_SOURCE", "shop"),
        ("OUTBOX_CHANNELS__MY_HOOK__AUTH__BEARER", "s3cret"),
        ("OUTBOX_CHANNELS__OTHER__HEADERS", "{ X-A = \"b\" }"),
        ("OUTBOX_CHANNELS__OTHER__ALLOW_NETWORKS", "[\"10.0.0.0/8\"]"),
        ("OUTBOX_CHANNELS__OTHER__KIND", "http"),
        ("OUTBOX_CHANNELS__OTHER__PORTS", "443, 8443"),
        ("OUTBOX_CHANNELS__OTHER__ROW_HEADERS", "X-A, X-B"),
        ("OUTBOX_CHANNELS__OTHER__HTTPS_ONLY", "true"),
        ("OUTBOX_CHANNELS__MY_HOOK__ROW_HEADERS", "any"),
        ("OUTBOX_CHANNELS__OTHER__SIGNING_KEYS", "whsec_a, whsk_b"),
        ("OUTBOX_CHANNELS__MY_HOOK__SIGNING_KEYS", "[{ env = \"HOOK_KEY\" }]"),
    ];
    let file =
        "[channels.my-hook]\nkind = \"http\"\nbase_url = \"https://x\"\nauth = { bearer = { file = \"token\" } }";
    let config = load(file, &environment, &[]).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(config.channels.keys().collect::<Vec<_>>(), ["my-hook", "other"]);
    let hook = http(&config, "my-hook");
    assert_eq!((hook.allow_networks.len(), hook.headers["x-source"].as_str()), (2, "shop"));
    assert!(matches!(&hook.auth, Some(Auth::Bearer(Secret::Literal(token))) if token == "s3cret"));
    assert_eq!(http(&config, "other").headers["X-A"], "b");
    assert_eq!(http(&config, "other").allow_networks.len(), 1);
    assert_eq!(http(&config, "other").signing_keys, ["whsec_a", "whsk_b"].map(|key| Secret::Literal(key.into())));
    assert_eq!(hook.signing_keys, [Secret::SecretPlace(SecretPlace::Env("HOOK_KEY".into()))]);
    let other = http(&config, "other");
    assert_eq!((other.ports.as_slice(), other.https_only), ([443, 8443].as_slice(), true));
    assert_eq!(other.row_headers.as_deref(), Some(["X-A".to_owned(), "X-B".to_owned()].as_slice()));
    assert_eq!(hook.row_headers, None);
}

const SECRETS: &str = "[database]\nurl = \"postgres://app:s3cret@db/shop\"\n[admin]\ntoken = \"s3cret\"\n\
    [channels.hook]\nkind = \"http\"\nbase_url = \"https://x\"\nauth = { basic = { user = \"me\", password = \"s3cret\" } }\n\
    signing_keys = [\"whsec_s3cret\", { env = \"NEXT\" }]\n[channels.hook.headers]\nX-Source = \"shop\"\nX-Api-Key = \"s3cret\"";

#[test]
fn the_effective_settings_show_no_secret_and_where_each_value_came_from() {
    let config = load(SECRETS, &[("OUTBOX_LEASE__TTL", "7s")], &[("lease.term", "8s")]).unwrap();
    let (toml, json) = (config.to_toml(), config.to_json());
    assert!(!format!("{toml} {json} {config:?}").contains("s3cret"), "{toml}\n{json}\n{config:?}");
    for line in [
        "url = \"postgres://app:***@db/shop\"  # from outbox.toml:2",
        "# token = \"***\"  # from outbox.toml:4",
        "ttl = \"7s\"  # from OUTBOX_LEASE__TTL",
        "term = \"8s\"  # from command line",
        "provider = \"table\"",
        "wakeup = \"notify\"  # follows from database.url",
        "max_in_flight = 512",
        "[channels.hook]",
        "# signing_keys = [\"***\", { env = \"NEXT\" }]  # from outbox.toml:9",
        "headers.X-Source = \"shop\"  # from outbox.toml:11",
    ] {
        assert!(toml.lines().any(|shown| shown == line), "{line:?} is missing from:\n{toml}");
    }
    assert_eq!(json["settings"]["lease"]["ttl"], "7s");
    assert_eq!(json["origins"]["lease.ttl"], "from OUTBOX_LEASE__TTL");
    assert_eq!(json["origins"].get("dispatch.max_in_flight"), None);
    assert_eq!(json["settings"]["channels"]["hook"]["headers"]["X-Source"], "shop");
}

#[test]
fn the_effective_settings_are_a_settings_file_that_means_the_same() {
    for file in [
        "",
        "[retry]\nmax = \"2h\"\n[channels.a-b]\nkind = \"http\"\nbase_url = \"https://x/@y\"\nheaders = { \"X-A!\" = \"b\" }\n\
         auth = { header = { name = \"X-Key\", value = { env = \"KEY\" } } }\nsigning_keys = [{ file = \"key\" }]\n\
         [channels.push]\nkind = \"fcm\"\ncredentials = \"key.json\"",
    ] {
        let config = from_file(file);
        let again = from_file(&config.to_toml());
        assert_eq!(again.to_json()["settings"], config.to_json()["settings"]);
        // Who writes the one channel of the defaults into a file has configured it.
        let read = |config: &Config| format!("{:?}", config.channels).replace("is_implied: true", "is_implied: false");
        assert_eq!(read(&again), read(&config));
        assert_eq!(
            (again.database, again.lease, again.dispatch, again.retention, again.admin, again.telemetry),
            (config.database, config.lease, config.dispatch, config.retention, config.admin, config.telemetry)
        );
    }
}

#[test]
fn a_file_that_was_named_has_to_exist() {
    let missing = std::path::Path::new("no/such/outbox.toml");
    let error = Sources::of_process(Some(missing), Vec::new()).unwrap_err().to_string();
    assert!(error.contains("no/such/outbox.toml") && error.contains("cannot be read"), "{error}");
}

#[test]
fn an_assignment_is_split_at_its_first_equals_sign() {
    let url = parse_assignment("database.url=postgres://db/x?a=b").unwrap();
    assert_eq!(url, ("database.url".to_owned(), "postgres://db/x?a=b".to_owned()));
    assert!(parse_assignment("lease.ttl").unwrap_err().contains("lease.ttl=10s"));
}

/// Any key that exists, or nearly.
fn some_key() -> impl Strategy<Value = String> {
    let fixed: Vec<String> = Config::fixed_keys();
    let of_channel = |kind| known::KNOWN.of_channel(&key::Key::of_channel("x"), kind);
    let channel = known::KNOWN.kinds().flat_map(of_channel).map(|key| key.to_string());
    let known: Vec<_> = fixed.into_iter().chain(channel).collect();
    prop_oneof![9 => prop::sample::select(known), 1 => "[a-z]{0,9}(\\.[a-z]{0,9}){0,3}"]
}

fn some_value() -> impl Strategy<Value = String> {
    let likely =
        ["", "http", "fcm", "redis", "1", "10s", "1h", "64 MiB", "postgres://a:b@c/d", "https://x", "{ a = 1 }"];
    prop_oneof![prop::sample::select(likely.to_vec()).prop_map(str::to_owned), any::<String>()]
}

proptest! {
    #[test]
    fn whatever_is_set_there_is_a_configuration_or_a_reason_and_never_a_panic(
        flags in prop::collection::vec((some_key(), some_value()), 0..6),
        file in prop::option::of("(\\[[a-z.]{0,9}\\]\n)?([a-z.]{1,9} = [\"0-9a-z{}=]{0,9}\n){0,3}"),
    ) {
        let file = file.map(|text| ("outbox.toml".into(), text));
        match Config::load(&Sources { file, flags, ..Sources::default() }) {
            Ok(config) => prop_assert!(!config.channels.is_empty() && !config.to_toml().is_empty()),
            Err(error) => prop_assert!(!error.problems.is_empty()),
        }
    }
}

#[test]
fn what_needs_a_restart_is_named_once_and_nothing_else_is() {
    let started = from_file("[database]\nurl = \"postgres://db/a\"\n[lease]\nurl = \"redis://cache\"");
    let needs = |file: &str| started.needs_restart(&from_file(file));
    let same = "[database]\nurl = \"postgres://db/a\"\n[lease]\nurl = \"redis://cache\"\n";
    assert_eq!(needs(same), [""; 0]);
    let reloaded =
        "[retry]\nbase = \"1s\"\n[retention]\nsuccess = \"1d\"\n[admin]\ntoken = \"a\"\n[channels.a]\nkind = \"http\"";
    assert_eq!(needs(&format!("{same}{reloaded}")), [""; 0]);
    assert_eq!(
        needs(&format!("{same}term = \"7s\"\n[admin]\nlisten = \"127.0.0.1:1\"")),
        ["lease.term", "admin.listen"]
    );
    assert_eq!(needs("[database]\nurl = \"postgres://db/a\""), ["lease.url"], "and provider follows from it");
    let chosen = from_file(&format!("{same}provider = \"table\""));
    assert_eq!(chosen.needs_restart(&from_file(same)), ["lease.provider"]);
}
