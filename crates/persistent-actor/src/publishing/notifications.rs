//! Channels that notify any number of readers in this process.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard, Weak};
use std::task::{Context, Poll};

use futures_util::stream::{self, BoxStream, Stream, StreamExt};
use tokio::sync::broadcast::{self, error::RecvError};

/// The largest capacity: places are reserved when a listener begins to read.
pub(crate) const MAX_CAPACITY: usize = 1 << 20;

/// A stream of notifications, from the moment it was made.
///
/// The sender of a notification does not wait for it: a reader that is late by more than the capacity loses the oldest,
/// and gets their number before the next. Dropping the stream ends the subscription. It ends by itself when no
/// sender is left.
///
/// May be read on any thread; in an actor with `ctx.add_stream(subscription)`, that is as
/// `StreamHandler<Result<T, Lagged>>`.
///
/// # Cancel safety
/// No notification is lost if a reader stops waiting for the next one.
#[must_use = "notifications are lost unless the stream is read"]
pub struct Subscription<T: Clone + Send + 'static> {
    received: BoxStream<'static, Result<T, Lagged>>,
    notifications: Weak<Notifications>,
}

/// The number of notifications that a slow reader did not get.
///
/// They stand between the one before and the one after this in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{count} notifications were missed, read the stream faster or raise its capacity")]
#[non_exhaustive]
pub struct Lagged {
    /// The number of notifications, at least 1.
    pub count: u64,
}

/// The channels of an actor system: one per type that has a listener, and none for the others.
pub(crate) struct Notifications {
    capacity: usize,
    /// True if there is any channel, so that a notification without readers costs next to nothing.
    listened_to: AtomicBool,
    /// A `broadcast::Sender<T>` by the type `T`.
    channels: RwLock<HashMap<TypeId, Box<dyn Any + Send + Sync>>>,
}

impl Notifications {
    /// Makes channels with room for `capacity` notifications of each type, rounded up to a power of two.
    pub(crate) fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self {
            capacity: capacity.clamp(1, MAX_CAPACITY),
            listened_to: AtomicBool::new(false),
            channels: RwLock::default(),
        })
    }

    pub(crate) fn subscribe<T: Clone + Send + Sync + 'static>(self: &Arc<Self>) -> Subscription<T> {
        let mut channels = self.lock();
        let receiver = match channels.entry(TypeId::of::<T>()) {
            Entry::Occupied(channel) => sender_of::<T>(&**channel.get()).subscribe(),
            Entry::Vacant(vacant) => {
                let (sender, receiver) = broadcast::channel::<T>(self.capacity);
                vacant.insert(Box::new(sender));
                receiver
            }
        };
        self.listened_to.store(true, Ordering::Release);
        drop(channels);
        Subscription {
            received: received(receiver).boxed(),
            notifications: Arc::downgrade(self),
        }
    }

    /// Returns the channel for notifications of this type; `None` if there is no listener.
    pub(crate) fn listeners<T: Clone + Send + Sync + 'static>(
        &self,
    ) -> Option<broadcast::Sender<T>> {
        if !self.listened_to.load(Ordering::Acquire) {
            return None;
        }
        let channels = self.channels.read().unwrap_or_else(PoisonError::into_inner);
        let channel = channels.get(&TypeId::of::<T>())?;
        Some(sender_of::<T>(&**channel).clone())
    }

    /// Forgets the types whose last listener has gone.
    fn forget_abandoned<T: 'static>(&self) {
        let mut channels = self.lock();
        if let Entry::Occupied(channel) = channels.entry(TypeId::of::<T>())
            && sender_of::<T>(&**channel.get()).receiver_count() == 0
        {
            channel.remove();
        }
        self.listened_to
            .store(!channels.is_empty(), Ordering::Release);
    }

    fn lock(&self) -> RwLockWriteGuard<'_, HashMap<TypeId, Box<dyn Any + Send + Sync>>> {
        // Every change under the lock is a single step, so a panic elsewhere leaves nothing half done.
        self.channels
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn sender_of<T: 'static>(channel: &(dyn Any + Send + Sync)) -> &broadcast::Sender<T> {
    channel
        .downcast_ref()
        .expect("a channel is kept under the type of what it carries")
}

fn received<T: Clone>(receiver: broadcast::Receiver<T>) -> impl Stream<Item = Result<T, Lagged>> {
    stream::unfold(receiver, |mut receiver| async move {
        match receiver.recv().await {
            Ok(notification) => Some((Ok(notification), receiver)),
            Err(RecvError::Lagged(count)) => Some((Err(Lagged { count }), receiver)),
            Err(RecvError::Closed) => None,
        }
    })
}

impl<T: Clone + Send + 'static> Stream for Subscription<T> {
    type Item = Result<T, Lagged>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.received.poll_next_unpin(cx)
    }
}

impl<T: Clone + Send + 'static> Drop for Subscription<T> {
    fn drop(&mut self) {
        // The receiver goes first, so that of two that are dropped at once the later one finds none left.
        self.received = stream::empty().boxed();
        if let Some(notifications) = self.notifications.upgrade() {
            notifications.forget_abandoned::<T>();
        }
    }
}

impl<T: Clone + Send + 'static> fmt::Debug for Subscription<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    /// Returns the notifications that can be read now.
    fn read<T: Clone + Send>(subscription: &mut Subscription<T>) -> Vec<Result<T, Lagged>> {
        std::iter::from_fn(|| subscription.next().now_or_never().flatten()).collect()
    }

    fn types(notifications: &Notifications) -> usize {
        notifications.lock().len()
    }

    #[test]
    fn each_type_has_its_own_channel_and_each_subscriber_gets_all() {
        let notifications = Notifications::new(4);
        let (mut first, mut second) = (
            notifications.subscribe::<u8>(),
            notifications.subscribe::<u8>(),
        );
        let mut other = notifications.subscribe::<char>();
        let sender = notifications.listeners::<u8>().unwrap();
        sender.send(1).unwrap();
        sender.send(2).unwrap();
        assert_eq!(read(&mut first), [Ok(1), Ok(2)]);
        assert_eq!(read(&mut second), [Ok(1), Ok(2)]);
        assert_eq!(read(&mut other), []);
    }

    #[test]
    fn a_type_is_forgotten_with_its_last_subscriber() {
        let notifications = Notifications::new(4);
        assert!(notifications.listeners::<u8>().is_none());
        let first = notifications.subscribe::<u8>();
        let second = notifications.subscribe::<u8>();
        let other = notifications.subscribe::<char>();
        drop(first);
        assert_eq!(types(&notifications), 2, "one of two still listens");
        drop(second);
        assert!(notifications.listeners::<u8>().is_none());
        assert!(notifications.listeners::<char>().is_some());
        drop(other);
        assert_eq!(types(&notifications), 0);
        assert!(!notifications.listened_to.load(Ordering::Acquire));
    }

    #[test]
    fn the_stream_ends_after_the_last_notification_of_the_last_sender() {
        let notifications = Notifications::new(4);
        let mut subscription = notifications.subscribe::<u8>();
        notifications.listeners::<u8>().unwrap().send(1).unwrap();
        drop(notifications);
        assert_eq!(subscription.next().now_or_never(), Some(Some(Ok(1))));
        assert_eq!(subscription.next().now_or_never(), Some(None));
    }

    #[test]
    fn a_senseless_capacity_is_corrected() {
        assert_eq!(Notifications::new(0).capacity, 1);
        assert_eq!(Notifications::new(usize::MAX).capacity, MAX_CAPACITY);
    }

    #[test]
    fn a_subscription_may_be_read_on_any_thread() {
        fn sent<T: Send + Unpin + 'static>(_: &T) {}
        sent(&Notifications::new(1).subscribe::<u8>());
    }
}
