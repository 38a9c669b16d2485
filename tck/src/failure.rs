//! The failure of a case, and the checks that cases are written with.

use std::error::Error;
use std::fmt::{self, Debug, Display};
use std::panic::Location;

use tokio::task::JoinError;

use crate::BoxError;

/// The result of a case.
pub(crate) type CaseResult = Result<(), Failure>;

/// The expected value, the found one, and the place of the check in the kit.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    text: String,
    location: Option<&'static Location<'static>>,
}

impl Failure {
    /// Makes a failure at the caller's line.
    #[track_caller]
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            location: Some(Location::caller()),
        }
    }

    /// A failure that no line of the kit stands for.
    pub(crate) fn without_location(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            location: None,
        }
    }

    /// The failure of a task that has panicked.
    pub(crate) fn of_task(error: JoinError) -> Self {
        let text = match error.try_into_panic() {
            Ok(panic) => match panic.downcast_ref::<&str>() {
                Some(text) => (*text).to_owned(),
                None => panic.downcast_ref::<String>().cloned().unwrap_or_default(),
            },
            Err(error) => error.to_string(),
        };
        Self::without_location(format!("expected no panic, found: {text}"))
    }

    /// The same failure, with the step that it happened in.
    pub(crate) fn within(mut self, step: impl Display) -> Self {
        self.text = format!("{step}: {}", self.text);
        self
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match self.location {
            Some(location) => write!(f, "\nat {}:{}", location.file(), location.line()),
            None => Ok(()),
        }
    }
}

/// An error where none was expected, with its whole chain of sources.
impl<E: Into<BoxError>> From<E> for Failure {
    #[track_caller]
    fn from(error: E) -> Self {
        let error: BoxError = error.into();
        Self::new(format!("expected no error, found: {}", chain(&*error)))
    }
}

/// Checks that what was found is what was expected; `what` names it.
#[track_caller]
pub(crate) fn expect_eq<T: PartialEq + Debug>(
    what: impl Display,
    found: T,
    expected: T,
) -> CaseResult {
    if found == expected {
        return Ok(());
    }
    let (expected, found) = (shown(&expected), shown(&found));
    let text = format!("{what}: expected {expected}, found {found}");
    Err(Failure::new(text))
}

/// Checks what no equality says; `expected` is a sentence.
#[track_caller]
pub(crate) fn expect(holds: bool, expected: impl Display) -> CaseResult {
    if holds {
        return Ok(());
    }
    Err(Failure::new(format!("expected {expected}")))
}

/// Thousands of numbers are of no help.
fn shown(value: &impl Debug) -> String {
    const LONGEST: usize = 600;
    let mut text = format!("{value:?}");
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push_str("...");
    }
    text
}

fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}
