//! The data that travels with commands, and is stored beside the events they lead to.

pub(crate) mod carried;
mod fields;
mod invalid_metadata;
mod scoped;
mod trace_context;

use std::fmt;
use std::sync::{Arc, OnceLock};

use actix_persistence_storage_api::Payload;

pub use invalid_metadata::InvalidMetadata;
pub use scoped::Scoped;

use carried::Carried;
use fields::{EMPTY, Fields};

/// The data about a command that is stored beside every event it leads to: who asked for it, and as part of what.
///
/// It is set once, where a request enters the program, and carried on by itself: with the commands that are sent in its
/// [scope](Self::scope), into the actors that handle them, to the events that those persist, and with the commands that
/// they send to other persistent actors. [`PersistentContext::metadata`](crate::PersistentContext::metadata) returns
/// that of the command at hand.
///
/// A value is immutable and cheap to clone. It has no more than [`MAX_BYTES`](Self::MAX_BYTES) of text, beside its causation
/// id.
///
/// ```
/// use actix_persistence_persistent_actor::{InvalidMetadata, Metadata};
///
/// # fn main() -> Result<(), InvalidMetadata> {
/// let metadata = Metadata::new()
///     .with_correlation_id("order 81")?
///     .with_user("ann")?
///     .with_entry("channel", "web")?;
/// assert_eq!(metadata.correlation_id(), Some("order 81"));
/// assert_eq!(metadata.entry("channel"), Some("web"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Metadata(Option<Arc<Shared>>);

/// The fields and their stored form, of which each is made of the other when it is first needed.
struct Shared {
    /// The fields; `None` of data that is not of this library.
    fields: OnceLock<Option<Fields>>,
    payload: OnceLock<Payload>,
}

impl Metadata {
    /// The most bytes of one text: of an id, the user, the two fields of a trace, a key or a value of an entry.
    pub const MAX_TEXT_BYTES: usize = 1024;
    /// The most bytes of all texts together, but for the causation id: the library replaces it.
    pub const MAX_BYTES: usize = 8 * 1024;

    /// The value without any data.
    pub(crate) const NOTHING: Self = Self(None);

    /// Returns metadata without any data.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the metadata in whose scope the caller runs: that of the command in a handler of a persistent actor;
    /// empty outside of any scope.
    pub fn current() -> Self {
        Carried::current().into_metadata()
    }

    /// Returns the same with this id of the whole that the command is a part of, such as the request of a user. All
    /// that a command leads to has its correlation id.
    ///
    /// # Errors
    /// [`InvalidMetadata`] if it is too long, or the whole becomes too large.
    pub fn with_correlation_id(self, id: impl Into<String>) -> Result<Self, InvalidMetadata> {
        let id = Some(id.into());
        self.with(|fields| fields.correlation_id = id)
    }

    /// Returns the same with this id of what directly caused the command. What is set by an actor for the command at
    /// hand stays; otherwise the handlers of a stored event have its identity here, `<persistence id>#<number>`.
    ///
    /// # Errors
    /// [`InvalidMetadata`] if it is too long.
    pub fn with_causation_id(self, id: impl Into<String>) -> Result<Self, InvalidMetadata> {
        let id = Some(id.into());
        self.with(|fields| fields.causation_id = id)
    }

    /// Returns the same with the name or id of the user who wants it.
    ///
    /// # Errors
    /// [`InvalidMetadata`] if it is too long, or the whole becomes too large.
    pub fn with_user(self, user: impl Into<String>) -> Result<Self, InvalidMetadata> {
        let user = Some(user.into());
        self.with(|fields| fields.user = user)
    }

    /// Returns the same with a W3C trace context, both of its fields as they stand in the headers `traceparent` and
    /// `tracestate` of HTTP. They are kept as they are: no spans are made.
    ///
    /// # Errors
    /// [`InvalidMetadata`] if a field is not as [the recommendation](https://www.w3.org/TR/trace-context/) has it, is
    /// too long, or the whole becomes too large.
    pub fn with_trace_context(
        self,
        traceparent: impl Into<String>,
        tracestate: Option<&str>,
    ) -> Result<Self, InvalidMetadata> {
        let traceparent = traceparent.into();
        trace_context::check_parent(&traceparent)?;
        tracestate.map_or(Ok(()), trace_context::check_state)?;
        let tracestate = tracestate.map(str::to_owned);
        self.with(|fields| {
            fields.traceparent = Some(traceparent);
            fields.tracestate = tracestate;
        })
    }

    /// Returns the same with an entry of the application's own, in place of that of the same key.
    ///
    /// # Errors
    /// [`InvalidMetadata`] if key or value is too long, or the whole becomes too large.
    pub fn with_entry(
        self,
        key: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<Self, InvalidMetadata> {
        let (key, value) = (key.into(), value.into());
        self.with(|fields| {
            fields.entries.insert(key, value);
        })
    }

    /// Returns the id of the whole that the command is a part of.
    pub fn correlation_id(&self) -> Option<&str> {
        self.fields().correlation_id.as_deref()
    }

    /// Returns the id of what directly caused the command or event; of the library's own, `<persistence id>#<number>`
    /// of a stored event.
    pub fn causation_id(&self) -> Option<&str> {
        self.fields().causation_id.as_deref()
    }

    /// Returns the user.
    pub fn user(&self) -> Option<&str> {
        self.fields().user.as_deref()
    }

    /// Returns the field `traceparent` of the W3C trace context.
    pub fn traceparent(&self) -> Option<&str> {
        self.fields().traceparent.as_deref()
    }

    /// Returns the field `tracestate` of the W3C trace context.
    pub fn tracestate(&self) -> Option<&str> {
        self.fields().tracestate.as_deref()
    }

    /// Returns the value of an entry of the application's own.
    pub fn entry(&self, key: &str) -> Option<&str> {
        self.fields().entries.get(key).map(String::as_str)
    }

    /// Returns all entries of the application's own, in the order of their keys.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        let entries = self.fields().entries.iter();
        entries.map(|(key, value)| (&**key, &**value))
    }

    /// Returns whether there is no data.
    pub fn is_empty(&self) -> bool {
        self.is_nothing() || (self.foreign().is_none() && *self.fields() == EMPTY)
    }

    /// Returns what another tool stored in the place of metadata, or what is damaged: it has no fields here, and a
    /// change of it begins with none.
    pub fn foreign(&self) -> Option<&Payload> {
        let shared = self.0.as_ref()?;
        match shared.fields() {
            Some(_) => None,
            None => shared.payload.get(),
        }
    }

    /// Runs code with this metadata: commands that it sends to persistent actors have it, and so has what it persists
    /// in an actor.
    ///
    /// Scopes nest; after the code, or its panic, the scope is the one before. For requests that are awaited use
    /// [`scope`](Self::scope): where a mailbox is full, `send` keeps the command until it is awaited.
    ///
    /// ```
    /// # use actix_persistence_persistent_actor::Metadata;
    /// let metadata = Metadata::new().with_correlation_id("order 81")?;
    /// let seen = metadata.in_scope(|| Metadata::current());
    /// assert_eq!(seen, metadata);
    /// assert!(Metadata::current().is_empty());
    /// # Ok::<_, actix_persistence_persistent_actor::InvalidMetadata>(())
    /// ```
    pub fn in_scope<R>(&self, code: impl FnOnce() -> R) -> R {
        Carried::current().changed_to(self.clone()).within(code)
    }

    /// Makes a future, and polls it, with this metadata: as [`in_scope`](Self::in_scope), whenever it runs.
    ///
    /// The future is made at the call. What runs between its polls has nothing of it.
    ///
    /// ```
    /// # use actix_persistence_persistent_actor::Metadata;
    /// # use actix::{MailboxError, Message, Recipient};
    /// # #[derive(Message)]
    /// # #[rtype(result = "()")]
    /// # struct Deposit(u64);
    /// # async fn request(metadata: Metadata, account: Recipient<Deposit>) -> Result<(), MailboxError> {
    /// metadata.scope(|| account.send(Deposit(10))).await
    /// # }
    /// ```
    ///
    /// # Cancel safety
    /// As the future itself.
    pub fn scope<F: Future>(&self, make: impl FnOnce() -> F) -> Scoped<F> {
        Scoped::new(Carried::current().changed_to(self.clone()), make)
    }

    /// Returns whether nothing was ever set; true for less than [`is_empty`](Self::is_empty), and at once.
    pub(crate) fn is_nothing(&self) -> bool {
        self.0.is_none()
    }

    /// Makes the metadata of what a journal returned.
    pub(crate) fn of_stored(payload: Option<Payload>) -> Self {
        Self(payload.map(|payload| {
            Arc::new(Shared {
                fields: OnceLock::new(),
                payload: payload.into(),
            })
        }))
    }

    /// Returns the stored form; `None` if there is nothing to store.
    pub(crate) fn payload(&self) -> Option<&Payload> {
        let shared = self.0.as_ref().filter(|_| !self.is_empty())?;
        let fields = || fields::encode(self.fields());
        Some(shared.payload.get_or_init(fields))
    }

    /// Returns the same with another cause; what has no fields stays as it is.
    fn caused_by(&self, id: String) -> Self {
        if self.is_empty() || self.foreign().is_some() {
            return self.clone();
        }
        Self::of(Fields {
            causation_id: Some(id),
            ..self.fields().clone()
        })
    }

    fn with(self, change: impl FnOnce(&mut Fields)) -> Result<Self, InvalidMetadata> {
        let mut fields = self.fields().clone();
        change(&mut fields);
        fields.check()?;
        Ok(Self::of(fields))
    }

    fn of(fields: Fields) -> Self {
        Self(Some(Arc::new(Shared {
            fields: Some(fields).into(),
            payload: OnceLock::new(),
        })))
    }

    fn fields(&self) -> &Fields {
        let fields = self.0.as_ref().and_then(|shared| shared.fields());
        fields.unwrap_or(&EMPTY)
    }
}

impl Shared {
    /// Returns the fields; `None` if another program stored the metadata, in a form of its own.
    fn fields(&self) -> Option<&Fields> {
        let decode = || fields::decode(self.payload.get()?);
        self.fields.get_or_init(decode).as_ref()
    }
}

impl PartialEq for Metadata {
    fn eq(&self, other: &Self) -> bool {
        self.fields() == other.fields() && self.foreign() == other.foreign()
    }
}

impl Eq for Metadata {}

/// Shows ids only: the user and the entries of the application do not belong in logs.
impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metadata")
            .field("correlation_id", &self.correlation_id())
            .field("causation_id", &self.causation_id())
            .field("traceparent", &self.traceparent())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
