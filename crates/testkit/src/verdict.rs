//! The fate of a call.

use actix_persistence_storage_api::StorageError;

use crate::{Fault, Next, StoreKind};

/// The fate of one call, as a test decides it; `A` is the [`StoreKind::Answer`] of the kind of store.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Verdict<A> {
    /// The call goes on to the rules that come after, and to the store.
    Pass,
    /// The store does not see it, and the caller hears this error.
    Fail(Fault),
    /// The store does it, and the caller hears this error; its effect is unknown, unless it is an error of the test's own.
    /// If the store fails itself, the caller hears the store's error.
    StoreButFail(Fault),
    /// The store does not see it, and the caller hears that the store does not take what was to be stored. Of a call with
    /// several writes, the first of each id is rejected, and later ones are skipped. A call that stores nothing fails.
    Reject(Fault),
    /// The store does not see it, and the caller hears this.
    Answer(A),
    /// The store does not see it, and the caller never hears anything.
    Hang,
    /// The store does not see it, and the call panics with this text.
    Panic(String),
}

impl<A> Verdict<A> {
    /// Returns [`Fail`](Self::Fail) with this error.
    pub fn fail(fault: impl Into<Fault>) -> Self {
        Verdict::Fail(fault.into())
    }

    /// Returns [`StoreButFail`](Self::StoreButFail) with this error, whose effect is unknown unless it is the
    /// test's own error.
    pub fn store_but_fail(fault: impl Into<Fault>) -> Self {
        Verdict::StoreButFail(fault.into().with_unknown_effect())
    }

    /// Returns [`Reject`](Self::Reject) with this error.
    pub fn reject(fault: impl Into<Fault>) -> Self {
        Verdict::Reject(fault.into())
    }

    /// Carries out the verdict on a call; for a [`Hook`](crate::Hook).
    ///
    /// # Errors
    /// That of the verdict, or what the store or a rule says if it passes.
    ///
    /// # Panics
    /// If the verdict is [`Panic`](Self::Panic).
    ///
    /// # Cancel safety
    /// That of the store's method.
    pub async fn carry_out<S>(self, call: S::Call, next: Next<S>) -> Result<A, StorageError>
    where
        S: StoreKind<Answer = A>,
    {
        match self {
            Verdict::Pass => next.run(call).await,
            Verdict::Fail(fault) => Err(fault.of(&call)),
            Verdict::StoreButFail(fault) => {
                let error = fault.with_unknown_effect().of(&call);
                next.run(call).await?;
                Err(error)
            }
            Verdict::Reject(fault) => S::reject(&call, fault.of(&call)),
            Verdict::Answer(answer) => Ok(answer),
            Verdict::Hang => std::future::pending().await,
            Verdict::Panic(message) => panic!("{message}"),
        }
    }
}
