//! Commands that a journal has beside those of all journals.

use std::any::{Any, type_name};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::PersistenceId;

/// A command of a plugin's own for its journal, with the type of its answer, such as a backup of its database.
///
/// An application sends it to the actor in front of the journal, which hands it to
/// [`Journal::run_command`](crate::Journal::run_command) when its turn has come.
///
/// ```
/// use std::time::Duration;
///
/// use actix_persistence_storage_api::{CommandRules, JournalCommand};
///
/// /// Removes deleted events from the files; the answer is the number of bytes that became free.
/// pub struct Compact;
///
/// impl JournalCommand for Compact {
///     type Answer = u64;
///
///     fn rules(&self) -> CommandRules {
///         CommandRules::alone().without_breaker(Duration::from_secs(600))
///     }
/// }
/// ```
pub trait JournalCommand: Send + Sync + 'static {
    /// The answer of a journal that has carried the command out.
    type Answer: Send + 'static;

    /// Returns the turn that the command takes among the other requests, and its limits. Called once for each command.
    fn rules(&self) -> CommandRules;
}

/// The turn of a [`JournalCommand`] among the other requests to its journal, and its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandRules {
    /// The requests that the command waits for, and those that wait for it.
    pub turn: CommandTurn,
    /// The longest time of a command without a circuit breaker, waiting included.
    ///
    /// With `None` the command has the breaker and the limits of the journal's reads, or of its writes if it changes
    /// something: an open breaker refuses it, it is waited for as long as any call, and a failure of it counts.
    pub time_without_breaker: Option<Duration>,
}

/// The requests that a command waits for, and those that wait for it; all of them those of one application, because
/// another process asks for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandTurn {
    /// The command waits for nothing, and nothing waits for it. It changes nothing.
    Beside,
    /// The command waits for the earlier requests of an id, and nothing waits for it. It changes nothing.
    After(PersistenceId),
    /// The command waits for the earlier requests of an id, the later ones wait for it, and so may writes of other ids.
    /// It may change something of that id.
    InOrder(PersistenceId),
    /// The command waits for all earlier requests that change something, and all later ones wait for it. Reads and replays
    /// go on, unless they wait for such a request. It may change anything.
    ///
    /// A command that takes longer than the time limit of a write makes the writes that wait for it fail, with an unknown
    /// effect as far as their actors know: let it run while nothing is written.
    Alone,
}

impl CommandTurn {
    /// Returns whether the command may change something, so that its failures have an [`Effect`](crate::Effect).
    pub fn changes(&self) -> bool {
        match self {
            CommandTurn::Beside | CommandTurn::After(_) => false,
            CommandTurn::InOrder(_) | CommandTurn::Alone => true,
        }
    }

    /// Returns the id whose requests the command waits for, if it is one.
    pub fn persistence_id(&self) -> Option<&PersistenceId> {
        match self {
            CommandTurn::After(id) | CommandTurn::InOrder(id) => Some(id),
            CommandTurn::Beside | CommandTurn::Alone => None,
        }
    }
}

impl CommandRules {
    /// Returns the rules of a command that waits for nothing and changes nothing.
    pub fn beside() -> Self {
        Self::of(CommandTurn::Beside)
    }

    /// Returns the rules of a command that sees what earlier requests of an id did, and changes nothing.
    pub fn after(persistence_id: PersistenceId) -> Self {
        Self::of(CommandTurn::After(persistence_id))
    }

    /// Returns the rules of a command that takes its turn among the requests of an id, which it may change.
    pub fn in_order(persistence_id: PersistenceId) -> Self {
        Self::of(CommandTurn::InOrder(persistence_id))
    }

    /// Returns the rules of a command that runs beside no change, and may change anything.
    pub fn alone() -> Self {
        Self::of(CommandTurn::Alone)
    }

    /// Returns the same for a command that counts for no circuit breaker, is let through an open one, and may take this
    /// long, waiting included.
    #[must_use]
    pub fn without_breaker(mut self, limit: Duration) -> Self {
        self.time_without_breaker = Some(limit);
        self
    }

    fn of(turn: CommandTurn) -> Self {
        Self {
            turn,
            time_without_breaker: None,
        }
    }
}

/// A [`JournalCommand`] of any type, as a journal gets it; clones are the same command, and equal.
#[derive(Clone)]
pub struct AnyCommand {
    command: Arc<dyn Any + Send + Sync>,
    name: &'static str,
    rules: CommandRules,
}

impl AnyCommand {
    /// Wraps a command, and asks it for its rules.
    pub fn new<C: JournalCommand>(command: C) -> Self {
        Self {
            rules: command.rules(),
            command: Arc::new(command),
            name: type_name::<C>(),
        }
    }

    /// Returns the command if its type is `C`.
    pub fn get<C: JournalCommand>(&self) -> Option<&C> {
        self.command.downcast_ref()
    }

    /// Returns the name of the command's type, with its path.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the turn and the limits of the command.
    pub fn rules(&self) -> &CommandRules {
        &self.rules
    }
}

impl PartialEq for AnyCommand {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.command, &other.command)
    }
}

impl Eq for AnyCommand {}

/// Shows the name and the rules: a command may hold what belongs in no log.
impl fmt::Debug for AnyCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyCommand")
            .field("name", &self.name)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

/// The answer to a [`JournalCommand`] of any type.
pub struct CommandAnswer {
    answer: Box<dyn Any + Send>,
    name: &'static str,
}

/// The answer to a command of this type, which is distinct from an answer of the same type to another one.
struct AnswerTo<C: JournalCommand>(C::Answer);

impl CommandAnswer {
    /// Makes the answer to a command.
    pub fn to<C: JournalCommand>(_: &C, answer: C::Answer) -> Self {
        Self {
            answer: Box::new(AnswerTo::<C>(answer)),
            name: type_name::<C>(),
        }
    }

    /// Returns the answer if it was made for a command of type `C`.
    pub fn take<C: JournalCommand>(self) -> Option<C::Answer> {
        let answer = self.answer.downcast::<AnswerTo<C>>().ok()?;
        Some(answer.0)
    }

    /// Returns the name of the type of the command that it was made for.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

/// Shows the name of the command's type only.
impl fmt::Debug for CommandAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandAnswer")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Count;
    struct Other;

    impl JournalCommand for Count {
        type Answer = u64;

        fn rules(&self) -> CommandRules {
            CommandRules::beside()
        }
    }

    impl JournalCommand for Other {
        type Answer = u64;

        fn rules(&self) -> CommandRules {
            CommandRules::alone()
        }
    }

    #[test]
    fn a_command_is_found_by_its_own_type_alone() {
        let command = AnyCommand::new(Count);
        assert!(command.get::<Count>().is_some());
        assert!(command.get::<Other>().is_none());
        assert!(command.name().ends_with("::Count"), "{}", command.name());
        assert_eq!(command, command.clone());
        assert_ne!(command, AnyCommand::new(Count));
    }

    #[test]
    fn an_answer_is_taken_by_the_type_of_its_command_alone() {
        assert_eq!(CommandAnswer::to(&Count, 7).take::<Count>(), Some(7));
        assert_eq!(CommandAnswer::to(&Count, 7).take::<Other>(), None);
    }

    #[test]
    fn only_a_command_with_a_turn_among_changes_may_change_something() {
        let id = PersistenceId::of("Account", "1");
        let changes = [
            CommandRules::beside(),
            CommandRules::after(id.clone()),
            CommandRules::in_order(id),
            CommandRules::alone(),
        ]
        .map(|rules| rules.turn.changes());
        assert_eq!(changes, [false, false, true, true]);
    }
}
