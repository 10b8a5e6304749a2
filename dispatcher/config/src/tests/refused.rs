//! Wrong settings, and what their errors say.

use super::load;

/// A settings file and what its error has to say.
const BAD_FILES: &[(&str, &[&str])] = &[
    // Keys.
    ("[lease]\ntll = \"10s\"", &["outbox.toml:2", "lease.tll", "did you mean lease.ttl?"]),
    ("[databse]\nurl = \"sqlite://x\"", &["did you mean database.url?"]),
    ("max_in_flight = 3", &["did you mean dispatch.max_in_flight?"]),
    ("[dispatch]\nttl = \"10s\"", &["did you mean lease.ttl?"]),
    ("[database]\nhost = \"db\"", &["the keys of database are url, schema, environment"]),
    ("[archive]\nsuccess = \"7d\"", &["archive.success is not a setting"]),
    ("[colours]\nred = 1", &["colours.red is not a setting", "the sections are database, lease"]),
    ("[archive]", &["outbox.toml:1: archive is not a setting"]),
    ("[retention]\nsuccess = \"0s\"", &["from 1s to 3650d", "or \"never\""]),
    ("[retention]\ndead = \"forever\"", &["retention.dead = \"forever\"", "or \"never\""]),
    ("[retention]\ndead = 90", &["a time needs a unit"]),
    ("lease = \"redis\"", &["lease is a section"]),
    ("channels = 3", &["channels is a section"]),
    ("[channel.hook]\nkind = \"http\"", &["did you mean channels.hook.kind?"]),
    ("[channel-defaults.http]\ntimeout = \"1s\"", &["channel-defaults.http.timeout is not a setting"]),
    ("[channels.hook]\nkind = \"http\"\ntime_out = \"1s\"", &["outbox.toml:3", "did you mean channels.hook.timeout?"]),
    ("[channels.hook]\nkind = \"http\"\nproject_id = \"x\"", &["a setting of fcm channels", "this one is http"]),
    ("[channels.hook]\nkind = \"http\"\ntemplate = \"x\"", &["not a setting of http channels", "idempotency_key"]),
    ("[lease]\nttl = { seconds = 10 }", &["lease.ttl is one value, not a table"]),
    ("[lease\nttl = 1", &["outbox.toml:1", "not TOML"]),
    // What is told.
    ("[alerts]\non_dead_rate = \"10/1h\"", &["alerts.on_dead_rate = \"10/1h\"", "needs alerts.url"]),
    ("[alerts]\non_no_poller = \"5m\"", &["alerts.on_no_poller", "needs alerts.url"]),
    (
        "[alerts]\nurl = \"https://a.example/s3cret\"",
        &["outbox.toml:2: alerts.url is where nothing is told", "on_no_poller"],
    ),
    ("[alerts]\nurl = { file = \"x\" }", &["alerts.url is where nothing is told"]),
    ("[alerts]\nurl = { vault = \"x\" }", &["alerts.url", "neither a text nor { env }", "http:// or https://"]),
    ("[alerts]\nurl = \"ftp://a.example/s3cret\"", &["alerts.url = \"***\"", "only http and https"]),
    ("[alerts]\nurl = \"hooks.example/s3cret\"", &["alerts.url = \"***\"", "it is not a URL"]),
    ("[alerts]\nformat = \"teams\"", &["alerts.format = \"teams\"", "\"slack\" or \"json\""]),
    ("[alerts]\non_job_late = true", &["alerts.on_job_late", "needs alerts.url"]),
    ("[alerts]\non_dead_rate = 10", &["alerts.on_dead_rate = 10", "not a text"]),
    ("[alerts]\non_dead_rate = \"10\"", &["write it like \"10/1h\""]),
    ("[alerts]\non_dead_rate = \"0/1h\"", &["write it like \"10/1h\""]),
    ("[alerts]\non_dead_rate = \"10/60\"", &["a time needs a unit"]),
    (
        "[alerts]\nurl = \"https://a.example\"\non_no_poller = \"12s\"",
        &["alerts.on_no_poller = \"12s\"", "may take 13s"],
    ),
    ("[alerts]\npage_url = \"outbox.example\"", &["alerts.page_url", "http://"]),
    // Types, units, ranges.
    ("[lease]\nttl = 10", &["lease.ttl = 10", "\"10s\"", "a time from 1s to 10m"]),
    ("[lease]\nttl = \"10 bananas\"", &["lease.ttl = \"10 bananas\"", "bananas", "from 1s to 10m"]),
    ("[lease]\nttl = \"999ms\"", &["\"999ms\"", "from 1s to 10m"]),
    ("[lease]\nttl = \"11m\"", &["from 1s to 10m"]),
    ("[lease]\nterm = [\"1s\"]", &["lease.term", "a list, not a text"]),
    ("[lease]\nprovider = \"etcd\"", &["lease.provider = \"etcd\"", "\"table\", \"session\" or \"redis\""]),
    ("[lease]\nprovider = \"session\"", &["lease.provider = \"session\"", "SQLite", "\"table\""]),
    (
        "[database]\nurl = \"mysql://app@db/shop\"\n[lease]\nprovider = \"session\"\nurl = \"redis://cache\"",
        &["lease.provider = \"session\"", "leave lease.url out"],
    ),
    ("[lease]\nprovider = \"redis\"", &["lease.provider = \"redis\"", "needs lease.url"]),
    (
        "[lease]\nurl = \"http://cache\"",
        &["lease.url", "redis://", "rediss://", "redis+sentinel://", "redis+cluster://"],
    ),
    ("[lease]\nurl = \"redis+cluster://me:s3cret@one/2\"", &["redis+cluster://me:***@one/2", "the database 0 only"]),
    ("[lease]\nurl = \"redis+cluster://one?sentinel_password=s3cret\"", &["sentinel_password", "redis+sentinel://"]),
    ("[lease]\nurl = \"redis+cluster://one?protocol=3\"", &["lease.url", "protocol"]),
    (
        "[lease]\nurl = \"redis+sentinel://me:s3cret@one,two\"",
        &["lease.url = \"redis+sentinel://me:***@one,two\"", "the name of the service is missing", "/SERVICE"],
    ),
    (
        "[lease]\nurl = \"redis+sentinel://one/shop?sentinel_password=s3cret&x=1\"",
        &[
            "lease.url = \"redis+sentinel://one/shop?sentinel_password=***&x=1\"",
            "`x` is no parameter",
            "sentinel_user",
        ],
    ),
    (
        "[lease]\nurl = \"redis://cache?timeout=5&ssl=true\"",
        &[
            "lease.url = \"redis://cache?timeout=5&ssl=true\"",
            "`timeout` is no parameter of a URL of Redis",
            "leave it out",
        ],
    ),
    ("[lease]\nurl = \"redis://cache/first\"", &["lease.url", "the database after the / is not a number"]),
    ("[lease]\nurl = \"redis://cache\"\ntls_ca = \"ca.pem\"", &["lease.tls_ca = \"ca.pem\"", "rediss://"]),
    ("[lease]\ntls_ca = \"ca.pem\"", &["lease.tls_ca = \"ca.pem\"", "rediss://"]),
    ("[dispatch]\nmax_in_flight = 0", &["dispatch.max_in_flight = 0", "from 1 to 100000"]),
    ("[dispatch]\nmax_in_flight = 100001", &["from 1 to 100000"]),
    ("[dispatch]\nmax_in_flight = -1", &["from 1 to 100000"]),
    ("[dispatch]\nmax_in_flight = \"64\"", &["without quotes"]),
    ("[dispatch]\nmax_bytes = 67108864", &["a size needs a unit", "from 1 MiB"]),
    ("[dispatch]\nmax_bytes = \"1 KiB\"", &["from 1 MiB"]),
    ("[dispatch]\nmax_bytes = \"64 bananas\"", &["bananas", "from 1 MiB"]),
    (
        "[dispatch]\nmax_bytes = \"2 MiB\"\n[channels.a]\nkind = \"http\"\nmax_message_bytes = \"3 MiB\"",
        &["channels.a.max_message_bytes", "dispatch.max_bytes", "raise that too"],
    ),
    ("[dispatch]\nwakeup = \"poll\"", &["\"notify\", \"redis\" or \"off\""]),
    ("[dispatch]\nwakeup = \"notify\"", &["only PostgreSQL"]),
    ("[dispatch]\nwakeup = \"redis\"", &["dispatch.wakeup", "lease.url"]),
    ("[retry]\nfactor = 0.5", &["retry.factor = 0.5", "from 1 to 100"]),
    ("[retry]\nfactor = nan", &["from 1 to 100"]),
    ("[retry]\nbase = \"2h\"", &["retry.base = \"2h\"", "longer than `max`"]),
    ("[retry]\nmax_attempts = 40000", &["from 1 to 32767"]),
    // URLs and addresses.
    (
        "[database]\nurl = \"mysql://me:s3cret@db/shop?sslMode=VERIFY_IDENTITY\"",
        &[
            "database.url = \"mysql://me:***@db/shop?",
            "`sslMode` is no parameter of a URL of MySQL",
            "did you mean ssl-mode?",
        ],
    ),
    (
        "[database]\nurl = \"postgres://me:s3@cret/w@127.0.0.1:7432/shop\"",
        &["database.url", "an @ stands behind the host", "/ as %2F"],
    ),
    ("[database]\nurl = \"postgres://me:12#s3cret@db/shop\"", &["database.url", "it has a fragment", "write # as %23"]),
    (
        "[database]\nurl = \"postgres://me:s3cret@one:5432,two:5432/shop\"",
        &["database.url", "it names several hosts: this program goes to one host"],
    ),
    ("[database]\nurl = \"postgres://me:s3cret@/shop\"", &["the host is missing after the @", "?host=/PATH"]),
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
    ("[admin]\nlisten = \"[::ffff:10.0.0.1]:8640\"", &["beyond loopback"]),
    ("[telemetry]\notlp_endpoint = \"collector:4317\"", &["telemetry.otlp_endpoint", "http://"]),
    ("[telemetry]\ntrace_url = \"https://jaeger.example/trace/\"", &["telemetry.trace_url", "{trace_id}"]),
    ("[telemetry]\ntrace_url = \"javascript:alert({trace_id})\"", &["telemetry.trace_url", "https://"]),
    ("[telemetry]\notlp_endpoint = \"http://u:p@collector\"", &["it has a user", "OTEL_EXPORTER_OTLP_HEADERS"]),
    ("[telemetry]\notlp_endpoint = \"http://collector/?a=b\"", &["a query or a fragment"]),
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
    (
        "[channels.hook]\nkind = \"http\"\non_dead = \"ops\"",
        &["channels.hook.on_dead = \"ops\"", "{ channel = \"NAME\", target = \"TARGET\" }"],
    ),
    (
        "[channels.hook]\nkind = \"http\"\non_dead = { channel = \"ops\" }",
        &["channels.hook.on_dead", "has no target", "allowed is { channel"],
    ),
    (
        "[channels.hook]\nkind = \"http\"\non_dead = { channel = \"ops\", target = \"/x\", url = \"\" }",
        &["channels.hook.on_dead", "has \"url\", which does not exist"],
    ),
    (
        "[channels.hook]\nkind = \"http\"\non_dead = { channel = \"ops\", target = \"https://x/s3cret\" }\n\
         [channels.other]\nkind = \"http\"",
        &["outbox.toml:3", "channels.hook.on_dead.channel = \"ops\"", "is no other channel; there are: other"],
    ),
    (
        "[channels.hook]\nkind = \"http\"\non_success = { channel = \"hook\", target = \"https://x/s3cret\" }",
        &["channels.hook.on_success.channel = \"hook\"", "there is no other channel"],
    ),
    (
        "[channels.hook]\nkind = \"http\"\non_dead = { channel = \"ops\", target = \"https://x\" }\n\
         [channels.ops]\nkind = \"http\"\non_success = { channel = \"last\", target = \"https://x\" }\n\
         [channels.last]\nkind = \"http\"",
        &["channels.hook.on_dead.channel = \"ops\"", "itself: outcomes could go round"],
    ),
    (
        "[channels.hook]\nkind = \"http\"\non_dead = { channel = \"ops\", target = \"/s3cret\" }\n\
         [channels.ops]\nkind = \"http\"",
        &["channels.hook.on_dead.target = \"***\"", "channel ops has no base_url"],
    ),
    (
        "[channels.hook]\nkind = \"http\"\non_dead = { channel = \"ops\", target = \"https://x/{s3cret}\" }\n\
         [channels.ops]\nkind = \"http\"",
        &["channels.hook.on_dead.target = \"***\"", "a placeholder that does not exist: there are {id}"],
    ),
    (
        "[channels.hook]\nkind = \"http\"\non_success = { channel = \"ops\", target = \"https://x/s3cret}\" }\n\
         [channels.ops]\nkind = \"http\"",
        &["channels.hook.on_success.target = \"***\"", "has a single brace: write {{ or }}"],
    ),
    (
        "[channels.hook]\nkind = \"http\"\non_dead = { channel = \"ops\", target = \"https://{tenant}.s3cret/\" }\n\
         [channels.ops]\nkind = \"http\"",
        &["channels.hook.on_dead.target = \"***\"", "has {tenant} in a place where it may not stand"],
    ),
    (
        "[channels.hook]\nkind = \"http\"\non_dead = { channel = \"push\", target = \"topic:{tenant}\" }\n\
         [channels.push]\nkind = \"fcm\"\nproject_id = \"x\"",
        &["channels.hook.on_dead.target = \"***\"", "channel push sends to no URL: write the target out"],
    ),
    (
        "[channels.hook]\nkind = \"http\"\ntls_cert = \"a.pem\"",
        &["channels.hook.tls_cert = \"a.pem\"", "tls_key is missing"],
    ),
    (
        "[channels.hook]\nkind = \"http\"\ntls_key = \"a.pem\"",
        &["channels.hook.tls_key = \"a.pem\"", "tls_cert is missing"],
    ),
    (
        "[channels.hook]\nkind = \"http\"\nbase_url = \"http://x\"\ntls_cert = \"a.pem\"\ntls_key = \"a.pem\"",
        &["channels.hook.tls_cert = \"a.pem\"", "use https://"],
    ),
    (
        "[channels.hook]\nkind = \"http\"\ntls_cert = \"a.pem\"\ntls_key = \"-----BEGIN PRIVATE KEY-----\\ns3cret\"",
        &["channels.hook.tls_key = \"***\"", "what belongs into the file"],
    ),
    (
        "[channels.push]\nkind = \"fcm\"\ncredentials = '{\"private_key\": \"s3cret\"}'",
        &["channels.push.credentials = \"***\"", "what belongs into the file"],
    ),
    (
        "[channels.hook]\nkind = \"http\"\nheaders = { Content-Type = \"application/xml\" }\ncloudevents = \"structured\"",
        &["channels.hook.headers cannot be sent: the Content-Type is not JSON"],
    ),
    (
        "[channels.hook]\nkind = \"http\"\nbase_url = \"https://x\"\nheaders = { Authorization = \"a\" }\nauth = { bearer = \"s3cret\" }",
        &["outbox.toml:4", "channels.hook.headers cannot be sent: the header authorization is set by auth already"],
    ),
    (
        "[channels.hook]\nkind = \"http\"\nheaders = { webhook-id = \"a\" }\nsigning_keys = [{ env = \"A\" }]",
        &["webhook-id is set by signing_keys already"],
    ),
    (
        "[channels.hook]\nkind = \"http\"\nheaders = { ce-id = \"a\" }\ncloudevents = \"binary\"",
        &["ce-id is set by the channel's cloudevents"],
    ),
    ("[channels.hook]\nkind = \"http\"\ncloudevents = \"batched\"", &["\"off\", \"binary\" or \"structured\""]),
    ("[channels.hook]\nkind = \"http\"\nin_doubt = \"drop\"", &["\"resend\" or \"dead_letter\""]),
    ("[channels.hook]\nkind = \"http\"\non_dead_ordered = \"stop\"", &["\"continue\" or \"halt\""]),
    ("[channels.hook]\nkind = \"http\"\nallow_networks = [\"10.0.0.0/64\"]", &["\"10.0.0.0/64\" is not a network"]),
    ("[channels.hook]\nkind = \"http\"\nallow_networks = [8]", &["a number, not a text", "a list of networks"]),
    ("[channels.hook]\nkind = \"http\"\nheaders = { \"X A\" = \"b\" }", &["headers.\"X A\"", "\"X A\" is not allowed"]),
    ("[channels.hook]\nkind = \"http\"\nheaders = { Host = \"b\" }", &["headers.Host", "belongs to the connection"]),
    ("[channels.hook]\nkind = \"http\"\nheaders = { TE = \"x\" }", &["headers.TE", "belongs to the connection"]),
    (
        "[channels.hook]\nkind = \"http\"\nheaders = { Idempotency-Key = \"x\" }",
        &["headers.Idempotency-Key", "idempotency_key = \"off\""],
    ),
    (
        "[channels.hook]\nkind = \"http\"\nidempotency_key = \"maybe\"\nheaders = { Idempotency-Key = \"x\" }",
        &["channels.hook.idempotency_key", "\"quoted\", \"bare\" or \"off\""],
    ),
    ("[channels.hook]\nkind = \"http\"\nheaders = { X-A = \"b\\r\\nX-B: c\" }", &["CR or LF"]),
    ("[channels.hook]\nkind = \"http\"\nheaders = { X-A = 1 }", &["a text in quotes"]),
    ("[channels.hook]\nkind = \"http\"\nheaders = [\"X-A: b\"]", &["a table of texts"]),
    ("[channels.hook]\nkind = \"http\"\nauth = \"x\"", &["channels.hook.auth", "bearer = SECRET"]),
    ("[channels.hook]\nkind = \"http\"\nauth = { digest = \"x\" }", &["\"digest\"", "bearer = SECRET"]),
    (
        "[channels.hook]\nkind = \"http\"\nauth = { header = { name = \"TE\", value = \"x\" } }",
        &["channels.hook.auth", "belongs to the connection"],
    ),
    (
        "[channels.hook]\nkind = \"http\"\nauth = { bearer = \"s3cret\" }",
        &["outbox.toml:3", "channels.hook.auth has no base_url", "auth_to = \"any\""],
    ),
    ("[channels.hook]\nkind = \"http\"\ntls_roots = \"none\"", &["channels.hook.tls_roots", "tls_ca is missing"]),
    ("[channels.hook]\nkind = \"http\"\ntls_roots = \"mine\"", &["\"system\" or \"none\""]),
    ("[admin]\ntoken = \"a\"\nmetrics_token = \"a\"", &["admin.metrics_token", "the same as admin.token"]),
    ("[admin]\nretry_token = \"a\"\nread_token = \"a\"", &["admin.read_token", "the same as admin.retry_token"]),
    ("[admin]\noperators = [\"ada\"]", &["admin.operators", "set admin.user_header"]),
    ("[admin]\nuser_header = \"X-User\"\noperators = [\" \"]", &["admin.operators", "names as the proxy writes them"]),
    ("[admin]\nread_token = \"a\"\nmetrics_token = \"a\"", &["admin.metrics_token", "the same as admin.read_token"]),
    ("[channels.hook]\nkind = \"http\"\nauth_to = \"all\"", &["\"base_url\" or \"any\""]),
    ("[channels.hook]\nkind = \"http\"\ntargets = \"paths\"", &["channels.hook.targets", "base_url is missing"]),
    ("[channels.hook]\nkind = \"http\"\ntargets = \"urls\"", &["\"any\" or \"paths\""]),
    ("[channels.hook]\nkind = \"http\"\nhttps_only = \"yes\"", &["channels.hook.https_only", "true or false"]),
    (
        "[channels.hook]\nkind = \"http\"\nretry_statuses = [404, 204]",
        &["channels.hook.retry_statuses", "always means that the message is delivered"],
    ),
    ("[channels.hook]\nkind = \"http\"\ndead_statuses = \"1xx\"", &["channels.hook.dead_statuses", "from 300 to 599"]),
    (
        "[channels.hook]\nkind = \"http\"\nretry_statuses = [404, \"5xx\"]\ndead_statuses = [501, \"404\"]",
        &["channels.hook.dead_statuses", "404 stands in retry_statuses too"],
    ),
    (
        "[channels.hook]\nkind = \"http\"\nretry_statuses = [409]\nknown_statuses = 409",
        &["channels.hook.known_statuses", "409 stands in retry_statuses too"],
    ),
    (
        "[channels.hook]\nkind = \"http\"\nknown_header = \"X Seen\"",
        &["channels.hook.known_header", "name of a header"],
    ),
    ("[channels.push]\nkind = \"fcm\"\nproject_id = \"x\"\nretry_statuses = [404]", &["channels.push.retry_statuses"]),
    ("[channels.hook]\nkind = \"http\"\nports = [0]", &["channels.hook.ports", "from 1 to 65535"]),
    ("[channels.hook]\nkind = \"http\"\nports = [443, 70000]", &["channels.hook.ports", "from 1 to 65535"]),
    ("[channels.hook]\nkind = \"http\"\ndeny_networks = [\"10.0.0.0/64\"]", &["channels.hook.deny_networks"]),
    (
        "[channels.hook]\nkind = \"http\"\nrow_headers = [\"Cookie\"]",
        &["channels.hook.row_headers", "header cookie is"],
    ),
    ("[channels.hook]\nkind = \"http\"\nrow_headers = [\"X_A\"]", &["header x_a has an underscore"]),
    (
        "[channels.push]\nkind = \"fcm\"\nproject_id = \"x\"\ntargets = [\"device\"]",
        &["channels.push.targets", "\"token\", \"topic\""],
    ),
    ("[channels.hook]\nkind = \"http\"\nauth = { basic = { user = \"x\" } }", &["has no password"]),
    (
        "[channels.hook]\nkind = \"http\"\nauth = { basic = { user = \"x\", password = \"y\", realm = \"z\" } }",
        &["has basic.realm, which does not exist"],
    ),
    ("[channels.hook]\nkind = \"http\"\nauth = { bearer = { vault = \"x\" } }", &["neither a text nor { env }"]),
    ("[channels.hook]\nkind = \"http\"\n[channels.hook.auth]\nbearer = \"x\"\nbasic = {}", &["more than one way"]),
    (
        "[channels.hook]\nkind = \"http\"\nsigning_keys = [{ vault = \"x\" }]",
        &["neither a text nor { env }", "\"whsec_…\""],
    ),
    ("[channels.hook]\nkind = \"http\"\nsigning_keys = [7]", &["channels.hook.signing_keys", "\"whsec_…\""]),
    ("[channels.push]\nkind = \"fcm\"", &["channels.push.project_id", "credentials"]),
    ("[channels.push]\nkind = \"fcm\"\nproject_id = \"a/b\"", &["it contains '/'"]),
    ("[channels.push]\nkind = \"fcm\"\nproject_id = \"x\"\ntimeout = \"9s\"", &["from 10s to 1h"]),
    ("[channels.push]\nkind = \"fcm\"\nproject_id = \"x\"\nbase = \"5s\"", &["from 10s to 1d"]),
    ("[channels.push]\nkind = \"fcm\"\nproject_id = \"x\"\nmax_age = \"2h\"", &["from 1s to 1h"]),
    ("[channels.push]\nkind = \"fcm\"\nproject_id = \"x\"\nbase_url = \"\"", &["base_url", "http://"]),
    // Recurring messages.
    ("recurring = 3", &["recurring is a section"]),
    (
        "[recurring.todo]\ncron = \"@daily\"\nchannel = \"http\"\ntarget = \"http://127.0.0.1\"\ntime_zone = \"UTC\"",
        &["outbox.toml:5", "did you mean recurring.todo.timezone?"],
    ),
    (
        "[recurring.todo]\nchannel = \"http\"\ntarget = \"http://127.0.0.1\"",
        &["outbox.toml:2: recurring.todo.cron is missing: it says when it is due"],
    ),
    (
        "[recurring.Todo]\ncron = \"@daily\"\nchannel = \"http\"\ntarget = \"http://127.0.0.1\"",
        &["recurring.Todo.cron", "the name of this recurring message is not allowed: it contains 'T'"],
    ),
    (
        "[recurring.todo]\ncron = \"0 0 30 2 *\"\nchannel = \"http\"\ntarget = \"http://127.0.0.1\"",
        &["outbox.toml:2: recurring.todo.cron = \"0 0 30 2 *\"", "this time never comes"],
    ),
    (
        "[recurring.todo]\ncron = \"60 * * * *\"\nchannel = \"http\"\ntarget = \"http://127.0.0.1\"",
        &["recurring.todo.cron", "this is no pattern of cron", "\"0 21 * * *\""],
    ),
    (
        "[recurring.todo]\ncron = \"@daily\"\ntimezone = \"Europe/Atlantis\"\nchannel = \"http\"\ntarget = \"http://127.0.0.1\"",
        &["recurring.todo.timezone = \"Europe/Atlantis\"", "there is no time zone of this name", "\"Europe/Berlin\""],
    ),
    (
        "[recurring.todo]\ncron = \"@daily\"\nchannel = \"hook\"\ntarget = \"http://127.0.0.1\"",
        &["recurring.todo.channel = \"hook\": is no channel; there are: http"],
    ),
    (
        "[recurring.todo]\ncron = \"@daily\"\nchannel = \"http\"\ntarget = \"/s3cret\"",
        &["recurring.todo.target = \"***\"", "channel http has no base_url"],
    ),
    (
        "[recurring.todo]\ncron = \"@daily\"\nchannel = \"http\"\ntarget = \"http://127.0.0.1\"\npayload = \"{s3cret\"",
        &["recurring.todo.payload = \"***\"", "this is not JSON"],
    ),
    (
        "[recurring.todo]\ncron = \"@daily\"\nchannel = \"http\"\ntarget = \"http://127.0.0.1\"\nheaders = { \"X A\" = \"b\" }",
        &["recurring.todo.headers"],
    ),
    (
        "[recurring.todo]\ncron = \"@daily\"\nchannel = \"http\"\ntarget = \"http://127.0.0.1\"\ntags = { job = 7 }",
        &["recurring.todo.tags.job = 7", "not a text in quotes"],
    ),
    (
        "[recurring.todo]\ncron = \"@daily\"\nchannel = \"http\"\ntarget = \"http://127.0.0.1\"\nmissed = \"some\"",
        &["recurring.todo.missed = \"some\"", "\"skip\", \"one\" or \"all\""],
    ),
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
        ("OUTBOX_DATABASE__URL", "\"postgres://me:s3cret@db/shop\"", ["database.url", "leave the marks out"]),
        ("OUTBOX_ADMIN__TOKEN", "'s3cret'", ["OUTBOX_ADMIN__TOKEN: admin.token", "quotation mark"]),
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
