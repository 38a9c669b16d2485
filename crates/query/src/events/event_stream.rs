//! The streams of events.

use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use actix_persistence_persistent_actor::{Event, Serializers};
use actix_persistence_storage_api::EventOffset;
use futures_util::Stream;

use super::{EventEnvelope, EventPlace, RecordEnvelope, Undecodable};
use crate::QueryError;
use crate::reading::{Reading, Source};

/// Decodes an event before it is given; false passes it over.
type Decode<'d, O> = &'d mut dyn FnMut(&RecordEnvelope<O>) -> Result<bool, QueryError>;
type PolledRecord<O> = Poll<Option<Result<RecordEnvelope<O>, QueryError>>>;

/// The events of any source.
trait Records<O>: Send {
    fn poll_record(&mut self, cx: &mut Context<'_>, decode: Decode<'_, O>) -> PolledRecord<O>;
    fn offset(&self) -> &O;
}

impl<O: Send, S: Source<Record = RecordEnvelope<O>, Offset = O>> Records<O> for Reading<S> {
    fn poll_record(&mut self, cx: &mut Context<'_>, decode: Decode<'_, O>) -> PolledRecord<O> {
        self.poll_record(cx, decode)
    }

    fn offset(&self) -> &O {
        self.offset()
    }
}

/// Events as they are stored; after an error nothing comes any more.
pub struct RecordStream<O = EventOffset>(Box<dyn Records<O>>);

/// Decoded events; after an error nothing comes any more.
///
/// One envelope stands for one stored event. An event that stands for none of today is passed over.
pub struct EventStream<E, O = EventOffset> {
    records: RecordStream<O>,
    serializers: Serializers,
    keeps_records: bool,
    events: PhantomData<fn() -> E>,
}

/// Decoded events, and as they are stored those that cannot be decoded; after an error nothing comes any more.
pub struct EventStreamWithUndecodable<E, O = EventOffset>(EventStream<E, O>);

impl<O: EventPlace> RecordStream<O> {
    pub(super) fn new<S: Source<Record = RecordEnvelope<O>, Offset = O>>(
        reading: Reading<S>,
    ) -> Self {
        Self(Box::new(reading))
    }

    pub(super) fn decoded<E: Event>(self, serializers: Serializers) -> EventStream<E, O> {
        EventStream {
            records: self,
            serializers,
            keeps_records: false,
            events: PhantomData,
        }
    }

    /// Returns the offset from which another query goes on after all that this stream has given or passed over, even if
    /// none of it is selected.
    pub fn offset(&self) -> &O {
        self.0.offset()
    }
}

impl<E: Event, O: EventPlace> EventStream<E, O> {
    /// Returns the stream that goes on after events that cannot be decoded, and gives them as they are stored.
    ///
    /// An error of decoding that [is transient](actix_persistence_persistent_actor::DecodeError::is_transient) is no
    /// reason to give an event up: a live stream waits, another one ends with the error.
    pub fn with_undecodable(self) -> EventStreamWithUndecodable<E, O> {
        EventStreamWithUndecodable(self)
    }

    /// Returns the stream whose envelopes also keep the [record](EventEnvelope::record) of their event, with its payload.
    pub fn with_records(mut self) -> Self {
        self.keeps_records = true;
        self
    }

    /// Returns the offset from which another query goes on after all that this stream has given or passed over, even if
    /// none of it is selected.
    pub fn offset(&self) -> &O {
        self.records.offset()
    }
}

impl<E: Event, O: EventPlace> EventStreamWithUndecodable<E, O> {
    /// Returns the offset from which another query goes on after all that this stream has given or passed over, even if
    /// none of it is selected.
    pub fn offset(&self) -> &O {
        self.0.offset()
    }
}

impl<O: EventPlace> Stream for RecordStream<O> {
    type Item = Result<RecordEnvelope<O>, QueryError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_record(cx, &mut |_| Ok(true))
    }
}

impl<E: Event, O: EventPlace> Stream for EventStream<E, O> {
    type Item = Result<EventEnvelope<E, O>, QueryError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Self {
            records,
            serializers,
            keeps_records,
            ..
        } = &mut *self;
        let mut decoded = None;
        let record = records.0.poll_record(cx, &mut |envelope| {
            let event = serializers.decode_event::<E>(&envelope.persistence_id, &envelope.record);
            let event = event.map_err(|error| envelope.undecodable(error))?;
            let stands_for_any = !event.events.is_empty();
            decoded = Some(event);
            Ok(stands_for_any)
        });
        Poll::Ready(match ready!(record) {
            Some(Ok(record)) => decoded.map(|event| Ok(record.with_decoded(event, *keeps_records))),
            Some(Err(error)) => Some(Err(error)),
            None => None,
        })
    }
}

impl<E: Event, O: EventPlace> Stream for EventStreamWithUndecodable<E, O> {
    type Item = Result<Result<EventEnvelope<E, O>, Undecodable<O>>, QueryError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let EventStream {
            records,
            serializers,
            keeps_records,
            ..
        } = &mut self.0;
        let mut decoded = None;
        let record = records.0.poll_record(cx, &mut |envelope| {
            let event = serializers.decode_event::<E>(&envelope.persistence_id, &envelope.record);
            let is_given = match &event {
                Ok(event) => !event.events.is_empty(),
                Err(error) => !error.is_transient(),
            };
            match event {
                Err(error) if !is_given => return Err(envelope.undecodable(error)),
                event => decoded = Some(event),
            }
            Ok(is_given)
        });
        Poll::Ready(match ready!(record) {
            Some(Ok(envelope)) => decoded.map(|event| {
                Ok(match event {
                    Ok(event) => Ok(envelope.with_decoded(event, *keeps_records)),
                    Err(error) => Err(Undecodable { envelope, error }),
                })
            }),
            Some(Err(error)) => Some(Err(error)),
            None => None,
        })
    }
}

/// Implements `Debug` by the offset only.
macro_rules! shows_the_offset {
    ($name:ident<$($parameter:ident: $bound:path),+>) => {
        /// Shows the offset only.
        impl<$($parameter: $bound),+> fmt::Debug for $name<$($parameter),+> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("offset", self.offset())
                    .finish_non_exhaustive()
            }
        }
    };
}

shows_the_offset!(RecordStream<O: EventPlace>);
shows_the_offset!(EventStream<E: Event, O: EventPlace>);
shows_the_offset!(EventStreamWithUndecodable<E: Event, O: EventPlace>);
