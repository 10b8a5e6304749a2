//! The command `outbox demo fcm`.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use outbox_console::text::print_as_it_is;

use super::{Options, Places, StandIn};

/// The options of the command.
#[derive(Debug, Args)]
pub(crate) struct FcmArgs {
    /// Address to listen on.
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    listen: IpAddr,
    /// Port for pushes, over TLS; 0 is a free one.
    #[arg(long, default_value_t = 8443)]
    port: u16,
    /// Port for access tokens, and for people who look at what it took, in plain text; 0 is a free one.
    #[arg(long, value_name = "PORT", default_value_t = 8480)]
    control_port: u16,
    /// Its name in URLs and in its certificate.
    #[arg(long, default_value = "localhost")]
    host: String,
    /// Where it writes service-account.json and ca.pem. One that is started there again is trusted as before.
    #[arg(long, value_name = "DIR", default_value = "fcm-stand-in")]
    directory: PathBuf,
    /// How long an answer takes, for example 100ms.
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = humantime::parse_duration)]
    latency: Duration,
    /// What a channel needs to know, as one line of JSON.
    #[arg(long)]
    json: bool,
}

/// Starts the stand-in, and says how a channel reaches it. It ends when what this gives is dropped.
pub(crate) fn serve(args: FcmArgs) -> anyhow::Result<StandIn> {
    let FcmArgs { listen, port, control_port, host, directory, latency, json } = args;
    let options =
        Options { listen, port, control_port, host, directory: Some(directory), latency, ..Options::default() };
    let stand_in = StandIn::start(&options)?;
    let places = stand_in.places();
    if json {
        print_as_it_is(&serde_json::to_string(places)?)?;
    } else {
        let set = |name: &str| std::env::var_os(name).is_some();
        let has_database = set("OUTBOX_CONFIG") || set("OUTBOX_DATABASE__URL") || Path::new("outbox.toml").exists();
        print_as_it_is(&format!(
            "# {}/received shows what it took. In outbox.toml:\n\n{}",
            places.control,
            settings(places, has_database)
        ))?;
    }
    Ok(stand_in)
}

/// The settings that use the stand-in. Beside a channel of its own an outbox names its database.
fn settings(places: &Places, has_database: bool) -> String {
    let database = if has_database { "" } else { "[database]\nurl = \"sqlite://outbox.db\"\n\n" };
    format!("{database}{}", places.channel("push"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use clap::Parser;

    use super::super::PROJECT;
    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        args: FcmArgs,
    }

    #[test]
    fn the_page_about_fcm_has_the_settings_that_the_command_prints_in_an_empty_folder() {
        let FcmArgs { port, control_port, host, directory, .. } = Command::try_parse_from(["fcm"]).unwrap().args;
        let places = Places {
            base_url: format!("https://{host}:{port}"),
            credentials: directory.join("service-account.json"),
            tls_ca: directory.join("ca.pem"),
            project_id: PROJECT,
            control: format!("http://{host}:{control_port}/control"),
        };
        let page = include_str!("../../../../docs/fcm.md");
        let printed = settings(&places, false);
        assert!(page.contains(&format!("```toml\n{printed}```")), "{printed}");
        assert!(settings(&places, true).starts_with("[channels.push]"));
        assert!(page.contains(&format!("{}/shown", places.control)));
    }
}
