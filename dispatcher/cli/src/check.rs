//! `outbox check`: whether everything that the settings name can be used, and what a crash costs with these settings.

use std::process::ExitCode;

use clap::Args;

use crate::session::{Misuse, OutboxAccess, Purpose};
use outbox_config::Config;
use outbox_console::check::{CheckReport, FindingVerdict, check_settings};
use outbox_console::text::{Cell, Page, print_as};

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// Name all that a strict installation would not leave so, and fail where there is anything, warnings included
    /// (docs/security.md).
    #[arg(long)]
    strict: bool,
    /// Post a test to the webhook of `alerts.url` too. With --url leave it out: the post is made from here.
    #[arg(long)]
    alert: bool,
    /// As JSON.
    #[arg(long)]
    json: bool,
}

pub(super) async fn check(config: Config, url: Option<&str>, args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let report = if url.is_some()
        && let OutboxAccess::Replica(replica) = OutboxAccess::by(&config, url, Purpose::Look).await?
    {
        if args.alert {
            return Err(Misuse::new("--alert posts from here, by the settings that are here: leave out --url").into());
        }
        replica.check(args.strict).await?
    } else {
        config.require_database()?;
        let mut report = check_settings(config.clone(), args.strict).await;
        if args.alert {
            report.try_alert(&config).await;
        }
        report
    };
    print_as(args.json, &report, in_words)?;
    Ok(if report.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn in_words(report: &CheckReport) -> Page {
    let rows = report.findings.iter().map(|finding| {
        let verdict = match finding.verdict {
            FindingVerdict::Ok => "ok",
            FindingVerdict::Warning => "warning",
            FindingVerdict::Failed => "FAILED",
        };
        [Cell::whole(&finding.subject), Cell::state(verdict), finding.text.as_str().into()]
    });
    let mut page = Page::default();
    page.findings(["WHAT", "VERDICT", ""], rows);
    page.blank();
    page.line(report.crash.in_words());
    page
}
