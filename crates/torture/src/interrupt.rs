//! Ctrl-C: the runs end, what was done so far is printed, and no worker is left.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// The exit status that a shell reports for a program that ended by an interrupt.
pub(crate) const INTERRUPTED: u8 = 130;

static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Lets the first Ctrl-C or SIGTERM end the runs as soon as they see it, and the second one end this program at once.
///
/// # Errors
/// If the operating system refuses.
pub fn end_on_interrupt() -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    thread::spawn(move || {
        for _ in signals.forever() {
            if IS_INTERRUPTED.swap(true, Ordering::Relaxed) {
                std::process::exit(INTERRUPTED.into());
            }
        }
    });
    Ok(())
}

/// Returns whether Ctrl-C or SIGTERM has asked this program to end.
pub fn is_interrupted() -> bool {
    IS_INTERRUPTED.load(Ordering::Relaxed)
}
