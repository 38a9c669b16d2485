//! The memory, threads and descriptors of a process, as its operating system sees it.

use std::fs;

use anyhow::Context;

use crate::workers::fault;

/// The first storms fill caches, pools and what an allocator keeps.
const WARM_UP: usize = 3;
/// The largest number of bytes, beyond those after the first storms, for each actor since: what an allocator cannot
/// free.
const MOST_PER_ACTOR: u64 = 1_000;
/// The largest number of bytes beyond those after the first storms, at any time.
const MOST: u64 = 48 << 20;
/// The largest number of further threads and descriptors: a pool opens connections as it needs them.
const MOST_MORE: usize = 24;

/// The state of the process after the first storms.
#[derive(Debug, Default)]
pub(super) struct Leaks {
    looks: usize,
    actors: u64,
    memory: u64,
    threads: usize,
    descriptors: usize,
}

impl Leaks {
    /// Looks after a storm of this number of actors, and reports if something has grown; returns the memory in KiB.
    pub(super) fn look(&mut self, actors: u64) -> anyhow::Result<u64> {
        let memory = memory()?;
        let threads = entries("/proc/self/task")?;
        let descriptors = entries("/proc/self/fd")?;
        self.looks += 1;
        if self.looks <= WARM_UP {
            self.memory = self.memory.max(memory);
            self.threads = self.threads.max(threads);
            self.descriptors = self.descriptors.max(descriptors);
            return Ok(memory >> 10);
        }
        self.actors += actors;
        if memory > self.memory + MOST + MOST_PER_ACTOR * self.actors {
            fault(format!(
                "{} bytes of memory have become {memory} in {} actors that are gone",
                self.memory, self.actors
            ));
        }
        for (what, before, now) in [
            ("threads", self.threads, threads),
            ("descriptors", self.descriptors, descriptors),
        ] {
            if now > before + MOST_MORE {
                fault(format!("{before} {what} have become {now}"));
            }
        }
        Ok(memory >> 10)
    }
}

fn memory() -> anyhow::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let digits = line.and_then(|line| line.split_whitespace().next());
    let kib: u64 = digits.context("no memory of this process")?.parse()?;
    Ok(kib << 10)
}

fn entries(folder: &str) -> anyhow::Result<usize> {
    Ok(fs::read_dir(folder)?.count())
}
