//! Records what a program does to its files, from its start to its end.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use fastrand::Rng;

use super::scratch::Scratch;
use crate::Run;
use crate::kinds::files::expected::Expected;
use crate::kinds::files::found::{Found, files_of};
use crate::kinds::files::shim::{self, CONTROL, Happened};
use crate::kinds::files::stores::Stores;

/// The files and stores that a program finds when it starts.
pub(crate) struct Base {
    pub(crate) stores: Stores,
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// The content that must stay.
    pub(crate) expected: Expected,
    /// The number of times that power was lost before.
    pub(crate) depth: u32,
    /// The highest number of a write.
    uid: u32,
}

impl Base {
    /// Returns a base without files.
    pub(crate) fn empty(stores: Stores) -> Self {
        Self {
            stores,
            files: BTreeMap::new(),
            expected: Expected::default(),
            depth: 0,
            uid: 0,
        }
    }
}

/// The operations of a program on its files.
pub(crate) struct Recording {
    pub(crate) base: Base,
    pub(crate) folder: PathBuf,
    pub(crate) log: Vec<Happened>,
    /// The files in the end.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// The seed of its steps.
    pub(crate) seed: u64,
    pub(crate) steps: u32,
}

impl Recording {
    /// Runs a program and records it.
    ///
    /// # Errors
    /// If it ends with an error, as it should not without any fault.
    pub(crate) fn make(
        run: &Run,
        scratch: &Scratch,
        base: Base,
        rng: &mut Rng,
    ) -> anyhow::Result<Self> {
        let folder = scratch.fresh("program")?;
        for (name, bytes) in &base.files {
            fs::write(folder.join(name), bytes)?;
        }
        let log = scratch.file("operations");
        if log.exists() {
            fs::remove_file(&log)?;
        }
        let seed = rng.u64(..);
        let steps = rng.u32(..40);
        let end = if rng.bool() { "stop" } else { "crash" };
        let mut program = run
            .worker("program")
            .arg(folder.display())
            .arg(base.stores)
            .arg(seed)
            .arg(steps)
            .arg(base.uid)
            .arg(end);
        for (name, value) in shim::environment(&folder, Some(&log))? {
            program = program.env(name, value);
        }
        let mut program = program.start()?;
        while program.next_line()?.is_some() {}
        program.ended(true)?;
        program.forget_log();
        let control = folder.join(CONTROL);
        if control.exists() {
            fs::remove_file(control)?;
        }
        Ok(Self {
            base,
            log: shim::read_log(&fs::read(&log)?)?,
            files: files_of(&folder)?,
            folder,
            seed,
            steps,
        })
    }

    /// A program that starts after power was lost and left this.
    pub(crate) fn base_of(&self, files: &BTreeMap<String, Vec<u8>>, found: &Found) -> Base {
        Base {
            stores: self.base.stores,
            files: files.clone(),
            expected: Expected::of(found),
            depth: self.base.depth + 1,
            uid: self.base.uid + 1_000,
        }
    }
}
