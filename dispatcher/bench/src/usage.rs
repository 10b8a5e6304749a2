//! The processor time and the memory of a process, as Linux reports them (`proc_pid_stat(5)`, `proc_pid_status(5)`).

use serde::{Deserialize, Serialize};

use super::number::float;

/// The usage of a process so far. None where the system does not report it.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Usage {
    /// The processor time of user and system, in microseconds.
    pub(super) cpu_micros: Option<f64>,
    /// The most memory that was resident at one time, in bytes.
    pub(super) peak_bytes: Option<f64>,
}

impl Usage {
    /// The usage of this process.
    pub(super) fn own() -> Self {
        Self::of(std::process::id())
    }

    /// The usage of the running process `pid`.
    pub(super) fn of(pid: u32) -> Self {
        let read = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).ok();
        Self {
            cpu_micros: read("stat").as_deref().and_then(cpu_micros),
            peak_bytes: read("status").as_deref().and_then(peak_bytes),
        }
    }

    /// The usage of several processes: the sum of their times, and the memory of the largest process.
    pub(super) fn together(all: impl IntoIterator<Item = Self>) -> Self {
        let both = |one: Option<f64>, other: Option<f64>, sum: fn(f64, f64) -> f64| Some(sum(one?, other?));
        let add = |sum: Self, one: Self| Self {
            cpu_micros: both(sum.cpu_micros, one.cpu_micros, |a, b| a + b),
            peak_bytes: both(sum.peak_bytes, one.peak_bytes, f64::max),
        };
        all.into_iter().reduce(add).unwrap_or_default()
    }
}

/// The processor time: fields 14 and 15. Counting begins after the name of the process, since a name may hold spaces
/// and brackets.
fn cpu_micros(stat: &str) -> Option<f64> {
    let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    let ticks = ticks()? + ticks()?;
    Some(float(ticks) * 1e6 / float(rustix::param::clock_ticks_per_second()))
}

fn peak_bytes(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| float(kib * 1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_a_process_are_found_behind_any_name() {
        let stat = "7 (a) b ) S 1 7 7 0 -1 4194560 1 0 0 0 120 30 0 0 20 0 1 0 1 1 1";
        let ticks = float(rustix::param::clock_ticks_per_second());
        assert_eq!(cpu_micros(stat).map(|micros| (micros * ticks / 1e6).round()), Some(150.0));
        assert_eq!(peak_bytes("Name:\tx\nVmHWM:\t    2048 kB\n"), Some(2_097_152.0));
        assert_eq!(peak_bytes("Name:\tx\n"), None);
    }

    #[test]
    fn processes_are_summed_up() {
        let one = |cpu, peak| Usage { cpu_micros: Some(cpu), peak_bytes: Some(peak) };
        let both = Usage::together([one(1.0, 5.0), one(2.0, 3.0)]);
        assert_eq!((both.cpu_micros, both.peak_bytes), (Some(3.0), Some(5.0)));
    }
}
