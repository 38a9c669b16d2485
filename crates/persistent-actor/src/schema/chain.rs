//! Older versions of a type, each with the step to the next.

use std::any::TypeId;
use std::fmt;
use std::sync::Arc;

use crate::{DecodeError, FromPayload, Stored};

/// Older versions of a type, oldest first: each becomes the next by [`Into`], and the last one is a `V`.
///
/// A stored version enters the chain at its place and goes through all steps after that. So a step is written once, when
/// its version becomes an old one, and is not touched again.
///
/// ```
/// use actix_persistence_persistent_actor::Chain;
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Deposited1(u64);
///
/// #[derive(Deserialize)]
/// struct Deposited2 {
///     cents: u64,
/// }
///
/// impl From<Deposited1> for Deposited2 {
///     fn from(Deposited1(cents): Deposited1) -> Self {
///         Self { cents }
///     }
/// }
///
/// let older: Chain<Deposited2> = Chain::of::<Deposited1>(1).then::<Deposited2>(2);
/// ```
///
/// Two versions without a step between them do not compile:
///
/// ```compile_fail,E0277
/// # use actix_persistence_persistent_actor::Chain;
/// Chain::of::<u64>(1).then::<u32>(2);
/// ```
pub struct Chain<V = NoVersion> {
    pub(super) versions: Vec<Version<V>>,
}

/// The type of the values of a [`Chain`] that has not begun.
#[derive(Debug)]
pub enum NoVersion {}

/// The place at which a version enters a chain.
pub(super) struct Version<V> {
    pub(super) number: u32,
    /// The type of its own values.
    pub(super) of: TypeId,
    pub(super) read: ReadVersion<V>,
}

/// Makes a value at the end of a chain from what is stored.
type ReadVersion<V> = Arc<dyn Fn(&Stored<'_>) -> Result<V, DecodeError> + Send + Sync>;

impl Chain {
    /// Begins with the oldest version, which is decoded as an `F`.
    pub fn of<F: FromPayload + 'static>(version: u32) -> Chain<F> {
        Chain::of_with(version, |stored| stored.decode())
    }
}

impl<V: 'static> Chain<V> {
    /// Begins with a version that a function reads, for what [`Into`] cannot do: look at the bytes twice, or
    /// [refuse](Stored::refuse) them.
    pub fn of_with(
        version: u32,
        read: impl Fn(&Stored<'_>) -> Result<V, DecodeError> + Send + Sync + 'static,
    ) -> Self {
        let versions = Vec::new();
        Self { versions }.and(version, Arc::new(read))
    }

    /// Goes on with the next version, which is decoded as an `N`, and which the version before it becomes.
    #[must_use]
    pub fn then<N: FromPayload + 'static>(self, version: u32) -> Chain<N>
    where
        V: Into<N>,
    {
        self.then_with(version, |stored| stored.decode())
    }

    /// Goes on with a version that a function reads, as [`of_with`](Self::of_with).
    #[must_use]
    pub fn then_with<N: 'static>(
        self,
        version: u32,
        read: impl Fn(&Stored<'_>) -> Result<N, DecodeError> + Send + Sync + 'static,
    ) -> Chain<N>
    where
        V: Into<N>,
    {
        self.map(V::into).and(version, Arc::new(read))
    }

    /// Returns the versions with one more step after the last.
    pub(super) fn map<N>(self, step: impl Fn(V) -> N + Clone + Send + Sync + 'static) -> Chain<N> {
        let longer = |version: Version<V>| {
            let (read, step) = (version.read, step.clone());
            Version {
                number: version.number,
                of: version.of,
                read: Arc::new(move |stored: &Stored<'_>| read(stored).map(&step))
                    as ReadVersion<N>,
            }
        };
        Chain {
            versions: self.versions.into_iter().map(longer).collect(),
        }
    }

    fn and(mut self, number: u32, read: ReadVersion<V>) -> Self {
        let of = TypeId::of::<V>();
        self.versions.push(Version { number, of, read });
        self
    }
}

impl<V> fmt::Debug for Chain<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = self.versions.iter().map(|version| version.number);
        f.write_str("Chain")?;
        f.debug_list().entries(numbers).finish()
    }
}
