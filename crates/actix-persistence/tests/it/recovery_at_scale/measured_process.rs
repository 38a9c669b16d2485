//! Runs a scenario in a process of its own, so that its memory is all there is to measure.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const SCENARIO: &str = "ACTIX_PERSISTENCE_TEST_SCENARIO";
const FILE: &str = "ACTIX_PERSISTENCE_TEST_FILE";
const MARK: &str = "measured ";
const PEAK: &str = "peak-kib";
const RESIDENT: &str = "resident-kib";

/// Returns the task of a process that was started by [`run`]: a number, and the database to use.
pub(super) fn scenario() -> Option<(u64, PathBuf)> {
    let number = std::env::var(SCENARIO).ok()?.parse().unwrap();
    Some((number, std::env::var_os(FILE).unwrap().into()))
}

/// Reports a number to the process that started this one.
pub(super) fn report(name: &str, value: u64) {
    println!("\n{MARK}{name} {value}");
}

/// Reports the most memory that this process ever had, where the system tells.
pub(super) fn report_peak() {
    // `VmHWM` begins anew with each program, unlike the peak that `getrusage` gives.
    report_memory(PEAK, "VmHWM:");
}

/// Reports the memory that this process has now, where the system tells.
pub(super) fn report_resident() {
    report_memory(RESIDENT, "VmRSS:");
}

fn report_memory(name: &str, key: &str) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let memory = status.lines().find_map(|line| line.strip_prefix(key));
    if let Some(memory) = memory {
        let kib = memory.trim().trim_end_matches("kB").trim();
        report(name, kib.parse().unwrap());
    }
}

/// The report of a process.
pub(super) struct Measured(BTreeMap<String, u64>);

impl Measured {
    pub(super) fn get(&self, name: &str) -> u64 {
        let value = self.0.get(name);
        *value.unwrap_or_else(|| panic!("the process did not report '{name}'"))
    }

    /// The peak of its memory in KiB; `None`, with a remark, where the system does not tell.
    pub(super) fn peak_kib(&self) -> Option<u64> {
        self.kib(PEAK)
    }

    /// The memory that it had at the end in KiB; `None`, with a remark, where the system does not tell.
    pub(super) fn resident_kib(&self) -> Option<u64> {
        self.kib(RESIDENT)
    }

    fn kib(&self, name: &str) -> Option<u64> {
        let memory = self.0.get(name).copied();
        if memory.is_none() {
            assert_ne!(std::env::consts::OS, "linux", "linux tells the memory");
            println!("{name} is not measured on this system");
        }
        memory
    }
}

/// Runs the test `name` in another process as scenario `number` on `file`, and gives what it reported.
pub(super) fn run(name: &str, number: u64, file: &Path) -> Measured {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(SCENARIO, number.to_string())
        .env(FILE, file)
        .output()
        .unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "scenario {number}: {out}{err}");
    let reported = out.lines().filter_map(|line| line.strip_prefix(MARK));
    let pairs = reported.map(|report| {
        let (name, value) = report.split_once(' ').unwrap();
        (name.to_owned(), value.parse().unwrap())
    });
    Measured(pairs.collect())
}
