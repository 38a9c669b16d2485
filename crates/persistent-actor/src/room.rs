//! The room of queues that are empty.

use std::collections::VecDeque;

/// Frees the room of an empty queue, if it is more than for this number of items.
///
/// [`VecDeque::shrink_to`] would do the same, and can do more: it is much code for each type of actors.
pub(crate) fn free_beyond<T>(empty: &mut VecDeque<T>, kept: usize) {
    debug_assert!(empty.is_empty());
    if empty.capacity() > kept {
        *empty = VecDeque::new();
    }
}
