//! Spans, numbers and times as people read them.

/// A span of time as people say it: `850ms`, `12.3s`, `4m 10s`, `3h 2m`.
pub fn span(millis: i64) -> String {
    let seconds = millis / 1000;
    match millis {
        i64::MIN..1000 => format!("{millis}ms"),
        1000..60_000 => format!("{}.{}s", seconds, millis % 1000 / 100),
        60_000..3_600_000 => format!("{}m {}s", seconds / 60, seconds % 60),
        3_600_000..86_400_000 => format!("{}h {}m", seconds / 3600, seconds % 3600 / 60),
        86_400_000.. => format!("{}d {}h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// A number with a comma after each three digits from the right.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A time to the second. Fractions are of no use to people, and `--json` has them.
pub fn to_the_second(time: &str) -> String {
    match time.find('.') {
        Some(point) => {
            let zone = time[point + 1..].trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{}{zone}", &time[..point])
        }
        None => time.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_written_in_the_unit_that_matters() {
        let spans = [850, 12_345, 250_000, 10_920_000, 90_000_000].map(span);
        assert_eq!(spans, ["850ms", "12.3s", "4m 10s", "3h 2m", "1d 1h"]);
    }
}
