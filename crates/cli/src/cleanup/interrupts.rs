//! The reaction to Ctrl-C.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use tokio::task::JoinHandle;

use crate::outcome::INTERRUPTED;
use crate::signals::Signals;

/// Takes Ctrl-C over for as long as it lives: the first one sets a flag, the second one ends the process.
pub(super) struct Interrupts {
    flag: InterruptFlag,
    listener: JoinHandle<()>,
}

/// True after Ctrl-C came.
#[derive(Clone, Default)]
pub(super) struct InterruptFlag(Arc<AtomicBool>);

impl Interrupts {
    pub(super) fn listen() -> anyhow::Result<Self> {
        // From here on, not when the task is polled first.
        let mut interrupts = Signals::new().context("could not listen for Ctrl-C")?;
        let flag = InterruptFlag::default();
        let set = flag.clone();
        let listener = tokio::spawn(async move {
            interrupts.next().await;
            set.0.store(true, Ordering::Relaxed);
            eprintln!("ending after the ids under way; Ctrl-C again ends at once");
            interrupts.next().await;
            process::exit(i32::from(INTERRUPTED));
        });
        Ok(Self { flag, listener })
    }

    pub(super) fn flag(&self) -> InterruptFlag {
        self.flag.clone()
    }
}

impl InterruptFlag {
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        self.listener.abort();
    }
}
