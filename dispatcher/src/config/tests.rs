//! What a person meets: wrong settings and their errors, the order of the sources, the effective settings.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use outbox_schema::InDoubtPolicy;
use proptest::prelude::*;

use super::channel::{Auth, ChannelKind, HttpSettings, IdempotencyKey, Secret};
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
    match &config.channels[name].kind {
        ChannelKind::Http(settings) => settings,
        ChannelKind::Fcm(_) => panic!("{name} is an fcm channel"),
    }
}

#[test]
fn with_no_setting_at_all_there_is_a_file_a_table_lease_and_a_channel_to_this_machine() {
    let config = load("", &[], &[]).unwrap();
    assert_eq!(config.database.url.expose(), "sqlite://outbox.db");
    assert_eq!(config.database.dialect, Dialect::Sqlite);
    assert_eq!(config.database.schema, None);
    assert_eq!(config.lease.provider, LeaseProvider::Table);
    assert_eq!((config.lease.ttl, config.lease.term), (Duration::from_secs(10), Duration::from_secs(20)));
    assert_eq!(config.dispatch.wakeup, Wakeup::Off);
    assert_eq!((config.dispatch.max_in_flight, config.dispatch.max_bytes), (512, 64 << 20));
    assert_eq!((config.admin.listen.port(), config.admin.token), (8640, None));
    assert_eq!(config.channels.keys().collect::<Vec<_>>(), ["http"]);
    let channel = &config.channels["http"];
    assert_eq!((channel.timeout, channel.in_doubt), (Duration::from_secs(15), InDoubtPolicy::Resend));
    assert_eq!((channel.retry.max_attempts, channel.retry.max_age), (10, Duration::from_hours(72)));
}

#[test]
fn the_implicit_channel_reaches_loopback_and_is_gone_with_the_first_channel_of_the_users() {
    let networks = |config: &Config, name| http(config, name).allow_networks.iter().map(ToString::to_string).collect();
    let implicit: Vec<String> = networks(&load("", &[], &[]).unwrap(), "http");
    assert_eq!(implicit, ["127.0.0.0/8", "::1/128"]);
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
fn variables_that_are_none_of_ours_are_passed_over() {
    let environment = [
        ("OUTBOX_SERVICE_HOST", "10.0.0.1"),
        ("OUTBOX_PORT", "tcp://10.0.0.1:8640"),
        ("OUTBOX_CONFIG", "x.toml"),
        ("OUTBOX_TEST_POSTGRES", "/usr/bin"),
        ("OUTBOX_TEST_A__B", "x"),
        ("PATH", "/bin"),
    ];
    assert_eq!(load("", &environment, &[]).unwrap(), load("", &[], &[]).unwrap());
}

#[test]
fn lease_and_wakeup_follow_from_the_urls_unless_they_are_set() {
    let postgres = ("OUTBOX_DATABASE__URL", "postgres://app@db/shop");
    let redis = ("OUTBOX_LEASE__URL", "redis://cache");
    let config = load("", &[postgres, redis], &[]).unwrap();
    assert_eq!((config.database.dialect, config.dispatch.wakeup), (Dialect::Postgres, Wakeup::Notify));
    assert!(matches!(&config.lease.provider, LeaseProvider::Redis(url) if url.expose() == "redis://cache"));
    let file = "[lease]\nprovider = \"table\"\n[dispatch]\nwakeup = \"off\"";
    let config = load(file, &[postgres, redis], &[]).unwrap();
    assert_eq!((config.lease.provider, config.dispatch.wakeup), (LeaseProvider::Table, Wakeup::Off));
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
         [channels.push]\nkind = \"fcm\"\nproject_id = \"shop\"",
    );
    let (hook, push) = (&config.channels["hook"], &config.channels["push"]);
    assert_eq!((hook.retry.max_attempts, hook.retry.base), (4, Duration::from_secs(1)));
    assert_eq!(hook.in_doubt, InDoubtPolicy::DeadLetter);
    assert_eq!((push.retry.max_attempts, push.retry.base), (3, Duration::from_secs(10)));
    assert_eq!((push.retry.max_age, push.timeout), (Duration::from_hours(1), Duration::from_mins(1)));
}

#[test]
fn everything_an_http_channel_has_is_read() {
    let config = from_file(
        "[channels.hook]\nkind = \"http\"\nbase_url = \"https://hooks.example/v1\"\nmethod = \"PUT\"\n\
         idempotency_key = \"bare\"\nallow_networks = [\"10.0.0.0/8\", \"192.168.1.7\"]\ntls_ca = \"ca.pem\"\n\
         headers = { X-Source = \"shop\" }\nauth = { basic = { user = \"me\", password = { env = \"HOOK\" } } }",
    );
    let hook = http(&config, "hook");
    assert_eq!((hook.base_url.as_str(), hook.method.as_str()), ("https://hooks.example/v1", "PUT"));
    assert_eq!((hook.idempotency_key, hook.tls_ca.as_str()), (IdempotencyKey::Bare, "ca.pem"));
    assert_eq!(
        hook.allow_networks.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["10.0.0.0/8", "192.168.1.7/32"]
    );
    assert_eq!(hook.headers["X-Source"], "shop");
    assert_eq!(hook.auth, Some(Auth::Basic { user: "me".into(), password: Secret::Env("HOOK".into()) }));
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
    ];
    let file = "[channels.my-hook]\nkind = \"http\"\nauth = { bearer = { file = \"token\" } }";
    let config = load(file, &environment, &[]).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(config.channels.keys().collect::<Vec<_>>(), ["my-hook", "other"]);
    let hook = http(&config, "my-hook");
    assert_eq!((hook.allow_networks.len(), hook.headers["x-source"].as_str()), (2, "shop"));
    assert!(matches!(&hook.auth, Some(Auth::Bearer(Secret::Literal(token))) if token.expose() == "s3cret"));
    assert_eq!(http(&config, "other").headers["X-A"], "b");
    assert_eq!(http(&config, "other").allow_networks.len(), 1);
}

/// A settings file and what its error has to say.
const BAD_FILES: &[(&str, &[&str])] = &[
    // Keys.
    ("[lease]\ntll = \"10s\"", &["outbox.toml:2", "lease.tll", "did you mean lease.ttl?"]),
    ("[databse]\nurl = \"sqlite://x\"", &["did you mean database.url?"]),
    ("max_in_flight = 3", &["did you mean dispatch.max_in_flight?"]),
    ("[dispatch]\nttl = \"10s\"", &["did you mean lease.ttl?"]),
    ("[database]\nhost = \"db\"", &["the keys of database are url, schema, environment"]),
    ("[retention]\nsuccess = \"7d\"", &["retention.success is not a setting", "the sections are database, lease"]),
    ("[retention]", &["outbox.toml:1: retention is not a setting"]),
    ("lease = \"redis\"", &["lease is a section"]),
    ("channels = 3", &["channels is a section"]),
    ("[channel.hook]\nkind = \"http\"", &["did you mean channels.hook.kind?"]),
    ("[channel-defaults.http]\ntimeout = \"1s\"", &["channel-defaults.http.timeout is not a setting"]),
    ("[channels.hook]\nkind = \"http\"\ntime_out = \"1s\"", &["outbox.toml:3", "did you mean channels.hook.timeout?"]),
    ("[channels.hook]\nkind = \"http\"\nproject_id = \"x\"", &["a setting of fcm channels", "this one is http"]),
    ("[channels.hook]\nkind = \"http\"\nsigning_keys = []", &["not a setting of http channels", "idempotency_key"]),
    ("[lease]\nttl = { seconds = 10 }", &["lease.ttl is one value, not a table"]),
    ("[lease\nttl = 1", &["outbox.toml:1", "not TOML"]),
    // Types, units, ranges.
    ("[lease]\nttl = 10", &["lease.ttl = 10", "\"10s\"", "a time from 1s to 10m"]),
    ("[lease]\nttl = \"10 bananas\"", &["lease.ttl = \"10 bananas\"", "bananas", "from 1s to 10m"]),
    ("[lease]\nttl = \"999ms\"", &["\"999ms\"", "from 1s to 10m"]),
    ("[lease]\nttl = \"11m\"", &["from 1s to 10m"]),
    ("[lease]\nterm = [\"1s\"]", &["lease.term", "a list, not a text"]),
    ("[lease]\nprovider = \"session\"", &["lease.provider = \"session\"", "\"table\" or \"redis\""]),
    ("[lease]\nprovider = \"redis\"", &["lease.provider = \"redis\"", "needs lease.url"]),
    ("[lease]\nurl = \"http://cache\"", &["lease.url", "redis://", "rediss://"]),
    ("[dispatch]\nmax_in_flight = 0", &["dispatch.max_in_flight = 0", "from 1 to 100000"]),
    ("[dispatch]\nmax_in_flight = 100001", &["from 1 to 100000"]),
    ("[dispatch]\nmax_in_flight = -1", &["from 1 to 100000"]),
    ("[dispatch]\nmax_in_flight = \"64\"", &["without quotes"]),
    ("[dispatch]\nmax_bytes = 67108864", &["a size needs a unit", "from 1 MiB"]),
    ("[dispatch]\nmax_bytes = \"1 KiB\"", &["from 1 MiB"]),
    ("[dispatch]\nmax_bytes = \"64 bananas\"", &["bananas", "from 1 MiB"]),
    ("[dispatch]\nwakeup = \"poll\"", &["\"notify\" or \"off\""]),
    ("[dispatch]\nwakeup = \"notify\"", &["only PostgreSQL"]),
    ("[retry]\nfactor = 0.5", &["retry.factor = 0.5", "from 1 to 100"]),
    ("[retry]\nfactor = nan", &["from 1 to 100"]),
    ("[retry]\nbase = \"2h\"", &["retry.base = \"2h\"", "longer than `max`"]),
    ("[retry]\nmax_attempts = 40000", &["from 1 to 32767"]),
    // URLs and addresses.
    ("[database]\nurl = \"jdbc:mysql://db/shop\"", &["JDBC", "leave out \"jdbc:\"", "mysql://"]),
    ("[database]\nurl = \"oracle://db/shop\"", &["not supported", "sqlite://PATH", "postgres://", "mysql://"]),
    ("[database]\nurl = \"outbox.db\"", &["sqlite://PATH"]),
    ("[database]\nurl = \"\"", &["database.url", "sqlite://PATH"]),
    ("[database]\nurl = \"sqlite://\"", &["path of the file is missing"]),
    ("[database]\nurl = \"sqlite://:memory:\"", &["name a file"]),
    ("[database]\nurl = \"mysql://db\"", &["name of the database is missing"]),
    ("[database]\nschema = \"app\"", &["only PostgreSQL has schemas"]),
    ("[database]\nurl = \"postgres://db/x\"\nschema = \"a; drop\"", &["database.schema", "it contains ';'"]),
    ("[database]\nenvironment = \"\"", &["database.environment", "1 to 64"]),
    ("[admin]\nlisten = \"localhost:8640\"", &["admin.listen", "an IP address and a port"]),
    ("[admin]\nlisten = \"0.0.0.0:8640\"", &["beyond loopback", "admin.token"]),
    ("[admin]\nlisten = \"[::]:8640\"", &["beyond loopback"]),
    ("[telemetry]\notlp_endpoint = \"collector:4317\"", &["telemetry.otlp_endpoint", "http://"]),
    ("[telemetry]\nlog_format = \"xml\"", &["\"text\" or \"json\""]),
    ("[telemetry]\nlog_level = \"verbose\"", &["\"error\", \"warn\", \"info\", \"debug\" or \"trace\""]),
    // Channels.
    ("[channels.hook]", &["outbox.toml:1", "channels.hook.kind is missing"]),
    ("[channels.hook]\ntimeout = \"1s\"", &["channels.hook.kind is missing"]),
    ("[channels.hook]\nkind = \"smtp\"", &["channels.hook.kind = \"smtp\"", "\"http\" or \"fcm\""]),
    ("[channels.Hook]\nkind = \"http\"", &["channels.Hook", "it contains 'H'", "lower-case"]),
    ("[channels.\"a.b\"]\nkind = \"http\"", &["channels.\"a.b\"", "it contains '.'"]),
    ("[channels.hook]\nkind = \"http\"\nbase_url = \"ftp://x\"", &["base_url", "http:// or https://"]),
    ("[channels.hook]\nkind = \"http\"\nbase_url = \"https://u:p@x\"", &["credentials belong in `auth`"]),
    ("[channels.hook]\nkind = \"http\"\nbase_url = \"https://x/?a=b\"", &["a query or a fragment"]),
    ("[channels.hook]\nkind = \"http\"\nmethod = \"GET\"", &["\"POST\", \"PUT\" or \"PATCH\""]),
    ("[channels.hook]\nkind = \"http\"\nin_doubt = \"drop\"", &["\"resend\" or \"dead_letter\""]),
    ("[channels.hook]\nkind = \"http\"\nallow_networks = [\"10.0.0.0/64\"]", &["\"10.0.0.0/64\" is not a network"]),
    ("[channels.hook]\nkind = \"http\"\nallow_networks = [8]", &["a number, not a text", "a list of networks"]),
    ("[channels.hook]\nkind = \"http\"\nheaders = { \"X A\" = \"b\" }", &["headers.\"X A\"", "no name of a header"]),
    ("[channels.hook]\nkind = \"http\"\nheaders = { Host = \"b\" }", &["headers.Host", "by outbox itself"]),
    ("[channels.hook]\nkind = \"http\"\nheaders = { X-A = \"b\\r\\nX-B: c\" }", &["line breaks"]),
    ("[channels.hook]\nkind = \"http\"\nheaders = { X-A = 1 }", &["a text in quotes"]),
    ("[channels.hook]\nkind = \"http\"\nheaders = [\"X-A: b\"]", &["a table of texts"]),
    ("[channels.hook]\nkind = \"http\"\nauth = \"x\"", &["channels.hook.auth", "bearer = SECRET"]),
    ("[channels.hook]\nkind = \"http\"\nauth = { digest = \"x\" }", &["\"digest\"", "bearer = SECRET"]),
    ("[channels.hook]\nkind = \"http\"\nauth = { basic = { user = \"x\" } }", &["has no password"]),
    ("[channels.hook]\nkind = \"http\"\nauth = { bearer = { vault = \"x\" } }", &["neither a text nor { env }"]),
    ("[channels.hook]\nkind = \"http\"\n[channels.hook.auth]\nbearer = \"x\"\nbasic = {}", &["more than one way"]),
    ("[channels.push]\nkind = \"fcm\"", &["channels.push.project_id", "credentials"]),
    ("[channels.push]\nkind = \"fcm\"\nproject_id = \"a/b\"", &["it contains '/'"]),
    ("[channels.push]\nkind = \"fcm\"\nproject_id = \"x\"\ntimeout = \"9s\"", &["from 10s to 1h"]),
    ("[channels.push]\nkind = \"fcm\"\nproject_id = \"x\"\nbase = \"5s\"", &["from 10s to 1d"]),
    ("[channels.push]\nkind = \"fcm\"\nproject_id = \"x\"\nmax_age = \"2h\"", &["from 1s to 1h"]),
    ("[channels.push]\nkind = \"fcm\"\nproject_id = \"x\"\nbase_url = \"\"", &["base_url", "http://"]),
];

#[test]
fn a_wrong_setting_is_refused_with_its_key_its_value_and_what_is_allowed() {
    for (file, words) in BAD_FILES {
        let Err(error) = load(file, &[], &[]) else { panic!("accepted:\n{file}") };
        assert_eq!(error.problems.len(), 1, "one mistake, one problem:\n{file}\n{error}");
        for word in *words {
            assert!(error.to_string().contains(word), "{word:?} is missing from:\n{error}\n{file}");
        }
    }
}

#[test]
fn a_wrong_variable_or_flag_is_named_as_it_was_written() {
    for (name, value, words) in [
        ("OUTBOX_LEASE__TLL", "1s", ["OUTBOX_LEASE__TLL", "did you mean OUTBOX_LEASE__TTL?"]),
        ("OUTBOX_LEASE__TTL", "10", ["OUTBOX_LEASE__TTL: lease.ttl = \"10\"", "\"10s\""]),
        ("OUTBOX_DATABASE_URL", "sqlite://x", ["OUTBOX_DATABASE_URL", "OUTBOX_DATABASE__URL"]),
        ("OUTBOX_DISPATCH__MAX_IN_FLIGHT", "many", ["\"many\"", "a whole number from 1 to 100000"]),
    ] {
        let error = load("", &[(name, value)], &[]).unwrap_err().to_string();
        for word in words {
            assert!(error.contains(word), "{word:?} is missing from: {error}");
        }
    }
    let error = load("", &[], &[("dispatch.max_inflight", "1")]).unwrap_err().to_string();
    assert!(error.contains("command line: dispatch.max_inflight"), "{error}");
    assert!(error.contains("dispatch.max_in_flight?"), "{error}");
}

#[test]
fn all_mistakes_are_reported_at_once_and_none_twice() {
    let file = "[lease]\nttl = 10\nx = 1\n[retry]\nbase = \"0s\"\n[admin]\nlisten = \"x\"\n\
                [channels.a]\nkind = \"http\"\ntimeout = \"x\"\n[channels.b]\nkind = \"fcm\"";
    let error = load(file, &[("OUTBOX_NO__SUCH", "1")], &[]).unwrap_err();
    let mut keys: Vec<_> = error.problems.iter().map(|problem| problem.key.as_str()).collect();
    keys.sort_unstable();
    let expected = [
        "admin.listen",
        "channels.a.timeout",
        "channels.b.project_id",
        "lease.ttl",
        "lease.x",
        "no.such",
        "retry.base",
    ];
    assert_eq!(keys, expected, "{error}");
    assert!(error.to_string().starts_with("7 settings are wrong:\n"));
}

#[test]
fn no_error_shows_a_secret() {
    let file = "[database]\nurl = \"postgres://app:s3cret@db:x/shop\"\n[lease]\nurl = \"http://:s3cret@cache\"\n\
                [admin]\ntoken = \"s3cret with spaces\"\n[telemetry]\notlp_endpoint = \"grpc://u:s3cret@c\"\n\
                [channels.hook]\nkind = \"http\"\nbase_url = \"https://u:s3cret@x\"\nauth = { bearer = \"s3cret\", x = \"s3cret\" }\n\
                headers = { Authorization = \"s3cret\\n\" }\n[channels.other]\nkind = \"http\"\nauth = \"s3cret\"";
    let error = load(file, &[], &[]).unwrap_err();
    assert_eq!(error.problems.len(), 8, "{error}");
    assert!(!format!("{error} {error:?}").contains("s3cret"), "{error}");
    let error = load("[admin]\ntoken = \"s3cret\nx", &[], &[]).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("s3cret"), "{error}");
}

#[test]
fn a_channel_that_inherits_only_half_of_a_wait_that_cannot_be_is_refused() {
    for (file, words) in [
        (
            "[retry]\nbase = \"2s\"\n[channels.a]\nkind = \"http\"\nmax = \"1s\"",
            "channels.a.base = \"2s\": it is longer",
        ),
        ("[retry]\nmax = \"6s\"\n[channels.a]\nkind = \"fcm\"\nproject_id = \"x\"", "which is 6s"),
    ] {
        let error = load(file, &[], &[]).unwrap_err();
        assert_eq!(error.problems.len(), 1, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

const SECRETS: &str = "[database]\nurl = \"postgres://app:s3cret@db/shop\"\n[admin]\ntoken = \"s3cret\"\n\
    [channels.hook]\nkind = \"http\"\nauth = { basic = { user = \"me\", password = \"s3cret\" } }\n\
    [channels.hook.headers]\nX-Source = \"shop\"\nX-Api-Key = \"s3cret\"";

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
        "headers.X-Source = \"shop\"  # from outbox.toml:9",
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
         auth = { header = { name = \"X-Key\", value = { env = \"KEY\" } } }\n\
         [channels.push]\nkind = \"fcm\"\ncredentials = \"key.json\"",
    ] {
        let config = from_file(file);
        let again = from_file(&config.to_toml());
        assert_eq!(again.channels, config.channels);
        assert_eq!(
            (again.database, again.lease, again.dispatch, again.admin, again.telemetry),
            (config.database, config.lease, config.dispatch, config.admin, config.telemetry)
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
    let fixed: Vec<String> = known::KNOWN.fixed.iter().map(|(key, _)| key.to_string()).collect();
    let of_channel = |kind| known::KNOWN.of_channel(&key::Key::of_channel("x"), kind);
    let channel = known::Kind::ALL.into_iter().flat_map(of_channel).map(|key| key.to_string());
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
