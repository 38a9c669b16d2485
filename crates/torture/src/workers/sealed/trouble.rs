//! The errors that sealed actors may meet, and those that are violations.

use std::error::Error;

use actix_persistence::error::{ErrorChain, RejectionCause, StorageErrorKind};
use actix_persistence::prelude::*;

use super::facts::NO_OLDER_FORM;
use super::keys::NOT_NOW;
use crate::workers::{count, fault};

/// A part of the error of a tag that is too long.
const TOO_LONG: &str = "a tag has";

/// Returns whether an error says that the keys could not be asked.
pub(crate) fn is_of_keys(error: &(dyn Error + 'static)) -> bool {
    ErrorChain(error).to_string().contains(NOT_NOW)
}

/// Returns whether an error says that a key is lost.
pub(super) fn is_of_lost_key(error: &(dyn Error + 'static)) -> bool {
    let says = ErrorChain(error).to_string();
    says.contains("which the key store does not know")
}

/// Reports a recovery that failed for a reason that does not pass.
pub(crate) fn of_recovery(error: &RecoveryError) {
    if is_of_keys(error) {
        count("recoveries without keys");
    }
    if is_of_lost_key(error) {
        return count("recoveries without a lost key");
    }
    match error.is_transient() {
        true => count("recoveries begun again"),
        false => fault(format!("a recovery failed: {}", ErrorChain(error))),
    }
}

/// Reports a rejection that nothing explains.
pub(crate) fn of_rejection(cause: &RejectionCause) {
    let says = ErrorChain(cause).to_string();
    let reasons = [
        (NOT_NOW, "rejected without keys"),
        (NO_OLDER_FORM, "rejected without an older form"),
        (TOO_LONG, "rejected because of a tag"),
    ];
    match reasons.iter().find(|(reason, _)| says.contains(reason)) {
        Some((_, figure)) => count(figure),
        None => fault(format!("a write is rejected: {says}")),
    }
}

/// Reports a write that failed for a reason that only damage has.
pub(crate) fn of_write(error: &PersistError) {
    let (PersistError::NotStored(cause) | PersistError::Unknown(cause)) = error else {
        return count("conflicts");
    };
    count("failed writes");
    if matches!(
        cause.kind(),
        StorageErrorKind::Corrupt
            | StorageErrorKind::SchemaMismatch
            | StorageErrorKind::AccessDenied
            | StorageErrorKind::TooLarge
            | StorageErrorKind::Unsupported
            | StorageErrorKind::Constraint
    ) {
        fault(format!("a write failed: {}", ErrorChain(error)));
    }
}
