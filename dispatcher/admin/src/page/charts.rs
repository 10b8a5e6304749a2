//! Charts: bars over time, drawn as SVG without a style or a script of their own. The stylesheet has their colours.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::parts::Tone;

/// The width of a bar and of the gap behind it, and the height of a chart, in its own units: a chart is as wide as its place.
const BAR: usize = 3;
const STEP: usize = 4;
const HEIGHT: u64 = 40;

/// A chart of bars.
pub(super) struct Chart<'a> {
    /// An id, of which there is one on a page.
    pub(super) id: String,
    /// The name of what is shown.
    pub(super) name: &'static str,
    /// The channel whose it is.
    pub(super) channel: &'a str,
    /// How much it is in all.
    pub(super) total: String,
    /// The meaning of the highest bar, and when it was.
    pub(super) most: Markup,
    /// The chart in words, for those who do not see it.
    pub(super) words: String,
    /// When the first bar and the one in the middle begin.
    pub(super) ticks: &'a [Markup],
    /// What the bars mean for an operator.
    pub(super) tone: Tone,
    /// The bars, the oldest first.
    pub(super) bars: Vec<u64>,
    /// The least that a bar as high as the chart stands for. Little is drawn small.
    pub(super) least: u64,
}

impl Chart<'_> {
    pub(super) fn drawn(&self) -> Markup {
        let (title, description) = (format!("{}-title", self.id), format!("{}-words", self.id));
        let width = self.bars.len() * STEP;
        html! {
            figure class={ "chart " (self.tone.class()) } {
                figcaption { span { (self.name) } strong { (self.total) } span.hint { (self.most) } }
                svg role="img" viewBox={ "0 0 " (width) " " (HEIGHT) } preserveAspectRatio="none"
                    aria-labelledby={ (title) " " (description) } {
                    title id=(title) { (self.name) " of " (self.channel) }
                    desc id=(description) { (self.words) }
                    path d=(path(&self.bars, self.least)) {}
                }
                div.ends aria-hidden="true" { @for tick in self.ticks { (tick) } span { "now" } }
            }
        }
    }
}

/// A small chart in a line of a table. `words` say what it shows.
pub(super) fn small(bars: &[u64], words: &str) -> Markup {
    html! {
        svg.small-chart role="img" viewBox={ "0 0 " (bars.len() * STEP) " " (HEIGHT) } preserveAspectRatio="none" aria-label=(words) {
            title { (words) }
            path d=(path(bars, 0)) {}
        }
    }
}

/// A stretch of a strip, in parts of the whole.
pub(super) struct Stretch {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) is_gap: bool,
}

/// What followed what, on a line of time. A gap is seen however short it is.
pub(super) fn strip(stretches: &[Stretch], words: &str) -> Markup {
    const WIDTH: f64 = 1_000.0;
    let drawn = |gaps: bool| {
        let mut path = String::new();
        for stretch in stretches.iter().filter(|stretch| stretch.is_gap == gaps) {
            let (from, least) = ((stretch.from * WIDTH).floor(), if gaps { 4.0 } else { 1.0 });
            // One term ends before the next begins, for an eye too.
            let to = (stretch.to * WIDTH).floor() - if gaps { 0.0 } else { 2.0 };
            let length = (to - from).max(least);
            let _ = write!(path, "M{from} 0h{length}v10h-{length}z");
        }
        path
    };
    html! {
        svg.strip role="img" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-label=(words) {
            title { (words) }
            path d=(drawn(false)) {}
            path.gap d=(drawn(true)) {}
        }
    }
}

/// The bars as one path. The highest is as high as the chart, where it is not less than `least`. What is not zero can be seen.
fn path(bars: &[u64], least: u64) -> String {
    let most = u128::from(bars.iter().copied().max().unwrap_or(0).max(least));
    let mut path = String::new();
    for (place, bar) in bars.iter().enumerate().filter(|(_, bar)| **bar > 0) {
        let height = (u128::from(*bar) * u128::from(HEIGHT) / most).max(1);
        // Writing to a text does not fail.
        let _ = write!(path, "M{} {HEIGHT}v-{height}h{BAR}v{height}z", place * STEP);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_bar_is_as_high_as_the_chart_and_a_small_one_is_seen() {
        assert_eq!(path(&[0, 1, 0, 1_000], 0), "M4 40v-1h3v1zM12 40v-40h3v40z");
        assert_eq!(path(&[0, 0], 0), "");
        assert_eq!(path(&[u64::MAX], 1), "M0 40v-40h3v40z");
        assert_eq!(path(&[0, 4], 40), "M4 40v-4h3v4z", "little is drawn small");
    }
}
