//! The number of changes that one page asks for.

use actix_persistence_storage_api::{StorageError, StorageErrorKind};

/// The size of the next page: a quarter after a page that took too long, and one more after each that did not, up to what is
/// set.
#[derive(Debug)]
pub(crate) struct PageSize {
    now: usize,
    most: usize,
}

impl PageSize {
    pub(crate) fn new(most: usize) -> Self {
        Self { now: most, most }
    }

    pub(crate) fn now(&self) -> usize {
        self.now
    }

    /// Grows the page after one that was read.
    pub(crate) fn grow(&mut self) {
        self.now = self.now.saturating_add(1).min(self.most);
    }

    /// Shrinks the page after one that was not read; returns whether there is a smaller one to be tried.
    pub(crate) fn shrinks_after(&mut self, error: &StorageError) -> bool {
        let shrinks = error.kind() == StorageErrorKind::Timeout && self.now > 1;
        if shrinks {
            self.now = (self.now / 4).max(1);
        }
        shrinks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_persistence_storage_api::Operation;

    #[test]
    fn pages_get_smaller_quickly_and_larger_slowly() {
        let too_long = StorageError::new(StorageErrorKind::Timeout, Operation::StateChanges);
        let mut size = PageSize::new(100);
        for smaller in [25, 6, 1] {
            assert!(size.shrinks_after(&too_long));
            assert_eq!(size.now(), smaller);
        }
        assert!(!size.shrinks_after(&too_long));
        size.grow();
        assert_eq!(size.now(), 2);
        (0..200).for_each(|_| size.grow());
        assert_eq!(size.now(), 100);
        let other = StorageError::new(StorageErrorKind::Unavailable, Operation::StateChanges);
        assert!(!size.shrinks_after(&other));
        assert_eq!(size.now(), 100);
    }
}
