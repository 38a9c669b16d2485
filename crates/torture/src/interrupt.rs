//! Ctrl-C: the runs end, what was done so far is printed, and no worker is left.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// The exit status that a shell reports for a program that ended by an interrupt.
pub(crate) const INTERRUPTED: u8 = 130;

/// True once this program listens.
static IS_LISTENING: Mutex<bool> = Mutex::new(false);
static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Lets the first Ctrl-C or SIGTERM end the runs as soon as they see it, and the second one end this program at once; does
/// nothing if it was called before.
///
/// A script may start this program in the background with SIGINT ignored. Processes that this program starts take a signal
/// that it listens to as any other program does, and one that it ignores not at all.
///
/// # Errors
/// If the operating system refuses.
pub fn end_on_interrupt() -> io::Result<()> {
    let mut is_listening = IS_LISTENING.lock().unwrap_or_else(PoisonError::into_inner);
    if *is_listening {
        return Ok(());
    }
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    thread::spawn(move || {
        for _ in signals.forever() {
            if IS_INTERRUPTED.swap(true, Ordering::Relaxed) {
                std::process::exit(INTERRUPTED.into());
            }
        }
    });
    *is_listening = true;
    Ok(())
}

/// Returns whether Ctrl-C or SIGTERM has asked this program to end.
pub fn is_interrupted() -> bool {
    IS_INTERRUPTED.load(Ordering::Relaxed)
}
