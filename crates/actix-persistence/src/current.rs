//! Which persistence belongs to which actix system.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use actix_rt::System;

use crate::Persistence;
use crate::persistence::Shared;

/// By system id; weak, so that the last handle still closes the stores.
type Installed = HashMap<usize, Weak<Shared>>;

/// Makes it the one of the running system, unless that has one already.
pub(crate) fn install(persistence: &Persistence) {
    if let Some(system) = System::try_current() {
        let mut installed = lock();
        installed.retain(|_, shared| shared.strong_count() > 0);
        installed
            .entry(system.id())
            .or_insert_with(|| Arc::downgrade(&persistence.0));
    }
}

pub(crate) fn get() -> Option<Persistence> {
    let system = System::try_current()?;
    lock().get(&system.id())?.upgrade().map(Persistence)
}

fn lock() -> MutexGuard<'static, Installed> {
    static INSTALLED: OnceLock<Mutex<Installed>> = OnceLock::new();
    INSTALLED
        .get_or_init(Mutex::default)
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}
