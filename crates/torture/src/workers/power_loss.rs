//! Works on files until it has done what it was asked, and says so in the file of marks.
//!
//! `FOLDER STORES SEED STEPS UID END`, with the seed of its steps, their number, and the number after which those of
//! its writes begin; `END` is `stop` to close all in the end, or `crash`.

use std::fs;
use std::path::Path;

use fastrand::Rng;

use crate::kinds::files::program::{Program, Step};
use crate::kinds::files::shim::CONTROL;
use crate::kinds::files::stores::Stores;

pub(crate) fn work(arguments: &[String]) -> anyhow::Result<()> {
    let [folder, stores, seed, steps, uid, end] = arguments else {
        anyhow::bail!("it needs FOLDER STORES SEED STEPS UID END");
    };
    let stores: Stores = stores.parse()?;
    let mut rng = Rng::with_seed(seed.parse()?);
    let steps: u32 = steps.parse()?;
    let uid = uid.parse()?;
    actix::System::new().block_on(async {
        let mut program = Program::open(Path::new(folder), stores, uid).await?;
        for _ in 0..steps {
            program.take(&Step::random(&mut rng)).await?;
        }
        let errors = program.take_errors();
        anyhow::ensure!(errors.is_empty(), "without any fault: {errors:?}");
        if end == "crash" {
            // Nothing is closed. The shim ends the process between two operations, so that all that happened is recorded.
            fs::write(Path::new(folder).join(CONTROL), "exit")?;
            anyhow::bail!("the shim did not end the process");
        }
        let report = program.close().await;
        anyhow::ensure!(report.is_complete(), "{report}");
        Ok(())
    })
}
