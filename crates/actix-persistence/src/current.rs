//! The persistence of the current actix system.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use actix_rt::System;

use crate::Persistence;
use crate::persistence::Shared;

/// The handles by system id, in the order they were opened; weak, so that the last handle still closes the stores.
type Installed = HashMap<usize, Vec<Weak<Shared>>>;

/// Makes a persistence one of the running system.
pub(crate) fn install(persistence: &Persistence) {
    if let Some(system) = System::try_current() {
        let mut installed = lock();
        installed.retain(|_, all| {
            all.retain(|shared| shared.strong_count() > 0);
            !all.is_empty()
        });
        let all = installed.entry(system.id()).or_default();
        all.push(Arc::downgrade(&persistence.0));
    }
}

/// The first that does not stop; if all do, the first.
pub(crate) fn get() -> Option<Persistence> {
    let system = System::try_current()?;
    let open: Vec<_> = {
        let installed = lock();
        let all = installed.get(&system.id())?.iter();
        all.filter_map(Weak::upgrade).map(Persistence).collect()
    };
    let working = open.iter().find(|persistence| !persistence.is_stopping());
    working.or_else(|| open.first()).cloned()
}

fn lock() -> MutexGuard<'static, Installed> {
    static INSTALLED: OnceLock<Mutex<Installed>> = OnceLock::new();
    INSTALLED
        .get_or_init(Mutex::default)
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
}
