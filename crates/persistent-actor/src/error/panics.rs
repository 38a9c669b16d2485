//! Panics of user code, caught.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs user code; a panic becomes its message.
///
/// Data that the code worked on may be half changed and has to be dropped.
pub(crate) fn caught<R>(code: impl FnOnce() -> R) -> Result<R, String> {
    let mut code = Some(code);
    let mut result = None;
    caught_of_any(&mut || result = code.take().map(|code| code()))?;
    Ok(result.expect("code that did not panic has a result"))
}

/// Runs user code of any type: what catches panics is compiled once.
fn caught_of_any(code: &mut dyn FnMut()) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(code)).map_err(message)
}

fn message(panic: Box<dyn Any + Send>) -> String {
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => match panic.downcast::<&'static str>() {
            Ok(text) => (*text).to_owned(),
            Err(_) => "no message".to_owned(),
        },
    }
}
