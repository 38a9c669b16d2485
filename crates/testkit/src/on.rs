//! A rule while it is being written down.

use std::fmt;
use std::sync::Arc;

use actix_persistence_storage_api::{Operation, PersistenceId, StorageError};
use async_trait::async_trait;

use crate::{
    Fault, Held, Hook, Next, Recorded, Rule, Rules, Script, StoreCall, StoreKind, Verdict,
};

/// Calls that a rule is to be about; ends with what happens to them.
#[must_use = "a rule begins to count with what happens to the calls, such as `fail`"]
pub struct On<S: StoreKind> {
    rules: Rules<S>,
    calls: Calls<S>,
    most: Option<usize>,
}

impl<S: StoreKind> On<S> {
    pub(crate) fn new(rules: Rules<S>, calls: Calls<S>) -> Self {
        let most = None;
        Self { rules, calls, most }
    }

    /// Restricts the rule to calls about this id, alone or with other ids.
    pub fn of(self, persistence_id: &PersistenceId) -> Self {
        let id = persistence_id.clone();
        self.matching(move |call| call.persistence_ids().contains(&&id))
    }

    /// Restricts the rule to calls for which the predicate holds.
    pub fn matching(
        mut self,
        predicate: impl Fn(&S::Call) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.calls.predicates.push(Arc::new(predicate));
        self
    }

    /// Restricts the rule to the next `calls` of these calls; 0 for none.
    pub fn next(mut self, calls: usize) -> Self {
        self.most = Some(calls);
        self
    }

    /// Lets them fail; the store does not see them. The caller of a write hears that nothing is stored, unless the fault
    /// [says otherwise](Fault::with_unknown_effect).
    pub fn fail(self, fault: impl Into<Fault>) -> Rule {
        self.all(Verdict::fail(fault))
    }

    /// Lets the store do them, and the caller hear an error of unknown effect, as when a reply is lost.
    pub fn store_but_fail(self, fault: impl Into<Fault>) -> Rule {
        self.all(Verdict::store_but_fail(fault))
    }

    /// Answers that the store does not take what is to be stored, as if it was too large. Of a call with several
    /// writes, the first of each id is rejected, and later ones are skipped.
    pub fn reject(self, fault: impl Into<Fault>) -> Rule {
        self.all(Verdict::reject(fault))
    }

    /// Answers with this; the store does not see them.
    pub fn answer(self, answer: S::Answer) -> Rule {
        self.all(Verdict::Answer(answer))
    }

    /// Leaves the calls without an answer for ever; the store does not see them.
    pub fn hang(self) -> Rule {
        self.all(Verdict::Hang)
    }

    /// Panics with this text; the store does not see them.
    pub fn panic(self, message: impl Into<String>) -> Rule {
        self.all(Verdict::Panic(message.into()))
    }

    fn all(self, verdict: Verdict<S::Answer>) -> Rule {
        self.decide(move |_| verdict.clone())
    }

    /// Asks this code what becomes of each.
    pub fn decide(
        self,
        decide: impl Fn(&S::Call) -> Verdict<S::Answer> + Send + Sync + 'static,
    ) -> Rule {
        self.run(move |call: S::Call, next| {
            let verdict = decide(&call);
            verdict.carry_out::<S>(call, next)
        })
    }

    /// Changes each call before it goes on.
    pub fn change(self, change: impl Fn(&mut S::Call) + Send + Sync + 'static) -> Rule {
        self.run(move |mut call, next: Next<S>| {
            change(&mut call);
            next.run(call)
        })
    }

    /// Lets each go on, and changes what the caller hears of it.
    pub fn change_answer(
        self,
        change: impl Fn(&S::Call, &mut Result<S::Answer, StorageError>) + Send + Sync + 'static,
    ) -> Rule {
        let change = Arc::new(change);
        self.run(move |call: S::Call, next: Next<S>| {
            let change = Arc::clone(&change);
            async move {
                let mut answer = next.run(call.clone()).await;
                change(&call, &mut answer);
                answer
            }
        })
    }

    /// Runs this code in the place of each; `next` lets a call go on.
    pub fn run<F, R>(self, code: F) -> Rule
    where
        F: Fn(S::Call, Next<S>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<S::Answer, StorageError>> + Send + 'static,
    {
        self.hook(Code(code))
    }

    /// Lets a hook answer each.
    pub fn hook(self, hook: impl Hook<S>) -> Rule {
        self.rules.add(self.calls, self.most, hook)
    }

    /// Holds each until the test lets it go on.
    pub fn hold(self) -> Held<S> {
        Held::new(|hook| self.hook(hook))
    }

    /// Takes what becomes of each from a script; what comes after its end passes.
    pub fn script(self, script: impl IntoIterator<Item = Verdict<S::Answer>>) -> Script<S> {
        Script::new(script, |hook| self.hook(hook))
    }

    /// Lets each go on, and remembers it.
    pub fn record(self) -> Recorded<S> {
        Recorded::new(|hook| self.hook(hook))
    }
}

impl<S: StoreKind> fmt::Debug for On<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("On")
            .field("most", &self.most)
            .finish_non_exhaustive()
    }
}

/// A closure as a hook.
struct Code<F>(F);

#[async_trait]
impl<S, F, R> Hook<S> for Code<F>
where
    S: StoreKind,
    F: Fn(S::Call, Next<S>) -> R + Send + Sync + 'static,
    R: Future<Output = Result<S::Answer, StorageError>> + Send + 'static,
{
    async fn call(&self, call: S::Call, next: Next<S>) -> Result<S::Answer, StorageError> {
        (self.0)(call, next).await
    }
}

/// Operations that a rule is about: one, or an array of them.
#[derive(Clone, Debug)]
pub struct Operations(Vec<Operation>);

impl From<Operation> for Operations {
    fn from(operation: Operation) -> Self {
        Self(vec![operation])
    }
}

impl<const N: usize> From<[Operation; N]> for Operations {
    fn from(operations: [Operation; N]) -> Self {
        Self(operations.to_vec())
    }
}

type Predicate<C> = Arc<dyn Fn(&C) -> bool + Send + Sync>;

/// The calls that a rule is about.
pub(crate) struct Calls<S: StoreKind> {
    methods: Methods,
    predicates: Vec<Predicate<S::Call>>,
}

enum Methods {
    /// Every method but `close`.
    All,
    Of(Operations),
    Ping,
    Close,
}

impl<S: StoreKind> Calls<S> {
    pub(crate) fn all() -> Self {
        Self::of(Methods::All)
    }

    pub(crate) fn of_operations(operations: Operations) -> Self {
        Self::of(Methods::Of(operations))
    }

    pub(crate) fn pings() -> Self {
        Self::of(Methods::Ping)
    }

    pub(crate) fn closes() -> Self {
        Self::of(Methods::Close)
    }

    fn of(methods: Methods) -> Self {
        let predicates = Vec::new();
        Self {
            methods,
            predicates,
        }
    }

    pub(crate) fn contain(&self, call: &S::Call) -> bool {
        let is_method = match &self.methods {
            Methods::All => !call.is_close(),
            Methods::Of(operations) => {
                !call.is_ping() && !call.is_close() && operations.0.contains(&call.operation())
            }
            Methods::Ping => call.is_ping(),
            Methods::Close => call.is_close(),
        };
        is_method && self.predicates.iter().all(|holds| holds(call))
    }
}
