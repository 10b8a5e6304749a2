//! Channels as they may be shown: rows may name any number of them.

use outbox_desk::ChannelVitals;

/// The name under which channels are counted together that the settings do not have. No channel of the settings has it.
pub const NOT_CONFIGURED: &str = "(not configured)";

/// The channels as they may be shown, by name: rows may name any number. Those that `is_configured` knows are all there. Of the others
/// the first `most` are, and the rest is one channel at the end, [`NOT_CONFIGURED`]. The number says how many that are.
pub fn bounded(
    channels: &[ChannelVitals],
    is_configured: impl Fn(&str) -> bool,
    most: usize,
) -> (Vec<ChannelVitals>, usize) {
    let (mut others, mut folded) = (0, 0);
    let mut rest = ChannelVitals { channel: NOT_CONFIGURED.to_owned(), ..ChannelVitals::default() };
    let mut shown = Vec::new();
    for channel in channels {
        let has_the_name = channel.channel == NOT_CONFIGURED;
        if is_configured(&channel.channel) || (others < most && !has_the_name) {
            others += usize::from(!is_configured(&channel.channel));
            shown.push(channel.clone());
        } else {
            folded += 1;
            rest.pending += channel.pending;
            rest.due += channel.due;
            rest.deferred += channel.deferred;
            rest.dead += channel.dead;
            rest.lag_ms = rest.lag_ms.max(channel.lag_ms);
        }
    }
    if folded > 0 {
        shown.push(rest);
    }
    (shown, folded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, pending: i64) -> ChannelVitals {
        let lag_ms = Some(pending * 1000);
        ChannelVitals { channel: name.to_owned(), pending, due: 1, deferred: 2, dead: 3, lag_ms }
    }

    #[test]
    fn of_channels_that_are_not_configured_some_are_shown_and_the_rest_as_one() {
        let channels =
            [named("(not configured)", 10), named("a", 20), named("b", 30), named("c", 40), named("hooks", 50)];
        let (shown, folded) = bounded(&channels, |name| name == "hooks", 2);
        let rest = ChannelVitals { due: 2, deferred: 4, dead: 6, lag_ms: Some(40_000), ..named(NOT_CONFIGURED, 50) };
        assert_eq!(shown, [named("a", 20), named("b", 30), named("hooks", 50), rest]);
        assert_eq!(folded, 2);
        assert_eq!(bounded(&channels[1..], |name| name == "hooks", 3), (channels[1..].to_vec(), 0));
    }
}
