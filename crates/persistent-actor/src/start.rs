//! Starting a persistent actor.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;

use actix::dev::channel::channel;
use actix::{Addr, ArbiterHandle};
use actix_persistence_storage_api::PersistenceId;
use futures_util::FutureExt;
use tokio::sync::oneshot;

use crate::driver::mailbox::Mailbox;
use crate::driver::{Driver, Factory};
use crate::environment::Environment;
use crate::environment::live_ids::Registration;
use crate::stashing::stash::Stash;
use crate::{Event, InvalidUpcasters, PersistentActor, Snapshot, StartError, UnknownStore, schema};

/// The number of messages in the channel from which `try_send` is refused; actix's own default. It limits no other way
/// of sending.
const MAILBOX_CAPACITY: usize = 16;

/// Starts an actor on the current arbiter; `choose` returns the stores for the plugin ids it names.
///
/// The factory is called at once, and again whenever the actor has to be rebuilt; messages may be sent right away and
/// are handled after the recovery.
///
/// # Errors
/// [`StartError`] if its id is invalid or live, if its types declare older forms that cannot be, if everything stops, or
/// for what `choose` refuses.
///
/// # Panics
/// Outside of an actix system, and where the factory or `upcasters()` of a type does.
pub fn start<A, F>(
    mut factory: F,
    choose: impl FnOnce(&A) -> Result<Arc<Environment>, UnknownStore>,
) -> Result<Addr<A>, StartError>
where
    A: PersistentActor,
    F: FnMut() -> A + Unpin + 'static,
{
    let (actor, persistence_id, environment) = prepare(factory(), choose)?;
    let registration = environment.live_ids.register(&persistence_id)?;
    Ok(spawn(actor, factory, environment, registration))
}

/// Starts an actor as [`start`] does, once the id is free: waits for the end of the actor that has it, and again if
/// another one is started in between. Asks no actor to stop; one that goes on is waited for without end.
///
/// # Errors
/// As [`start`], but for [`StartError::AlreadyRunning`].
///
/// # Panics
/// As [`start`].
///
/// # Cancel safety
/// Dropped, it has started nothing.
pub async fn start_when_stopped<A, F>(
    mut factory: F,
    choose: impl FnOnce(&A) -> Result<Arc<Environment>, UnknownStore>,
) -> Result<Addr<A>, StartError>
where
    A: PersistentActor,
    F: FnMut() -> A + Unpin + 'static,
{
    let (actor, persistence_id, environment) = prepare(factory(), choose)?;
    let registration = loop {
        // The actor to wait for is settled first: an end between the two lines is not waited for in vain.
        let stopped = environment.live_ids.stopped(&persistence_id);
        match environment.live_ids.register(&persistence_id) {
            Err(StartError::AlreadyRunning(_)) => stopped.await,
            registered => break registered?,
        };
    };
    Ok(spawn(actor, factory, environment, registration))
}

/// Finds the stores of an actor and whether it may be started on them.
fn prepare<A: PersistentActor>(
    actor: A,
    choose: impl FnOnce(&A) -> Result<Arc<Environment>, UnknownStore>,
) -> Result<(A, PersistenceId, Arc<Environment>), StartError> {
    let persistence_id = actor.persistence_id();
    persistence_id
        .validate()
        .map_err(|source| StartError::InvalidPersistenceId {
            persistence_id: persistence_id.clone(),
            source,
        })?;
    check_schemas::<A>().map_err(|source| StartError::Upcasters {
        persistence_id: persistence_id.clone(),
        source,
    })?;
    let environment = choose(&actor)?;
    if !environment.stores.fit::<A>() {
        return Err(StartError::WrongStores(persistence_id));
    }
    let serializers = &environment.serializers;
    for serializer in [A::Event::SERIALIZER, A::Snapshot::SERIALIZER] {
        if let Some(id) = serializers.unknown_of(serializer) {
            let known = serializers.list();
            return Err(StartError::UnknownSerializer {
                persistence_id,
                id,
                known,
            });
        }
    }
    if environment.stores.snapshot_store().is_none() && actor.retention().is_some() {
        return Err(StartError::NoSnapshotStore(persistence_id));
    }
    Ok((actor, persistence_id, environment))
}

/// Fails if the actor could not read what is stored, whatever that is.
fn check_schemas<A: PersistentActor>() -> Result<(), InvalidUpcasters> {
    schema::of_event::<A::Event>()?;
    schema::of_snapshot::<A::Snapshot>()?;
    Ok(())
}

fn spawn<A, F>(
    actor: A,
    factory: F,
    environment: Arc<Environment>,
    registration: Registration,
) -> Addr<A>
where
    A: PersistentActor,
    F: FnMut() -> A + Unpin + 'static,
{
    let (sender, receiver) = channel(MAILBOX_CAPACITY);
    let stash = Stash::new(
        registration.persistence_id().clone(),
        environment.stash_policy.clone(),
        environment.dead_letters.clone(),
    );
    let mailbox = Mailbox::new(receiver, stash);
    let factory: Factory<A> = Rc::new(RefCell::new(Box::new(factory)));
    let driver = Driver::new(actor, factory, environment, registration, mailbox);
    // In a box, so that the runtime's side of a task is compiled once for all types of actors.
    actix_rt::spawn(driver.boxed_local());
    Addr::new(sender)
}

/// Starts an actor on another arbiter, where the factory runs too.
///
/// # Errors
/// As [`start`], and [`StartError::ArbiterStopped`].
///
/// # Panics
/// If the factory or `upcasters()` of a type panics, on that arbiter.
///
/// # Cancel safety
/// Dropped, it may have started the actor, which ends by itself, because its address is dropped.
pub async fn start_in<A, F>(
    arbiter: &ArbiterHandle,
    factory: F,
    choose: impl FnOnce(&A) -> Result<Arc<Environment>, UnknownStore> + Send + 'static,
) -> Result<Addr<A>, StartError>
where
    A: PersistentActor,
    F: FnMut() -> A + Send + Unpin + 'static,
{
    let (sender, started) = oneshot::channel();
    arbiter.spawn_fn(move || {
        let started = catch_unwind(AssertUnwindSafe(|| start(factory, choose)));
        // The asker may have gone; then the address is dropped and the actor ends.
        let _ = sender.send(started);
    });
    match started.await {
        Ok(Ok(started)) => started,
        Ok(Err(panic)) => resume_unwind(panic),
        Err(_) => Err(StartError::ArbiterStopped),
    }
}
