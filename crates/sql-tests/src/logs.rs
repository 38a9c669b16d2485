//! The log of a test: what its thread has logged.

use std::cell::RefCell;
use std::io;
use std::sync::Once;

thread_local! {
    static LOGGED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

struct Logged;

impl io::Write for Logged {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        LOGGED.with_borrow_mut(|logged| logged.extend_from_slice(text));
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps from now on what each thread logs; a test whose runtime has one thread finds there what its stores log.
///
/// For all threads: `tracing` remembers for ever that a place is not listened to if a thread without a subscriber comes
/// by first.
pub fn listen() {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| {
        let lines = tracing_subscriber::fmt().with_ansi(false);
        lines.with_writer(|| Logged).init();
    });
}

/// Returns what this thread has logged.
pub fn logged() -> String {
    LOGGED.with_borrow(|logged| String::from_utf8_lossy(logged).into_owned())
}
