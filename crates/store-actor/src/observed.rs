//! A value that tasks wait for.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// A value that tasks wait for; they go on in the order in which they began to wait.
///
/// `tokio::sync::watch` wakes those who wait in random order, which no seed repeats in a simulation on one thread.
#[derive(Debug, Default)]
pub struct Observed<T> {
    value: Mutex<T>,
    changed: Notify,
}

impl<T: Clone> Observed<T> {
    /// Makes an observed value.
    pub fn new(value: T) -> Self {
        Self {
            value: Mutex::new(value),
            changed: Notify::new(),
        }
    }

    /// Returns a copy of the value as it is now.
    pub fn get(&self) -> T {
        self.lock().clone()
    }

    /// Changes the value, and has all who wait look at it.
    pub fn update(&self, change: impl FnOnce(&mut T)) {
        change(&mut self.lock());
        self.changed.notify_waiters();
    }

    /// Waits until the value is such a one, and returns a copy of it; at once if it is.
    ///
    /// A value that is soon followed by another one may be missed. `is_awaited` runs under the lock of the value.
    ///
    /// # Cancel safety
    /// Has no effect that could be lost.
    pub async fn wait_for(&self, mut is_awaited: impl FnMut(&T) -> bool) -> T {
        loop {
            // It hears of every change from now on, even before it is polled.
            let changed = self.changed.notified();
            {
                let value = self.lock();
                if is_awaited(&value) {
                    return value.clone();
                }
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, T> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt;
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn those_who_wait_go_on_in_the_order_in_which_they_began() {
        let observed = Arc::new(Observed::new(0));
        let (sender, mut woken) = mpsc::unbounded_channel();
        for waiter in 0..32 {
            let (observed, sender) = (Arc::clone(&observed), sender.clone());
            tokio::spawn(async move {
                observed.wait_for(|value| *value == 2).await;
                sender.send(waiter).unwrap();
            });
        }
        tokio::task::yield_now().await;
        observed.update(|value| *value = 1);
        tokio::task::yield_now().await;
        assert!(woken.recv().now_or_never().is_none());
        observed.update(|value| *value = 2);
        for waiter in 0..32 {
            assert_eq!(woken.recv().await, Some(waiter));
        }
    }

    #[test]
    fn a_change_between_the_look_and_the_wait_is_not_missed() {
        let observed = Observed::new(0);
        let mut looks = 0;
        let awaited = observed.wait_for(|_| {
            looks += 1;
            // As another thread does that has changed the value just after this look at it.
            observed.changed.notify_waiters();
            looks == 2
        });
        assert_eq!(awaited.now_or_never(), Some(0));
    }
}
