//! Commands of a plugin's own: those that a journal does not know.

use actix_persistence_storage_api::{
    AnyCommand, CommandRules, Journal, JournalCommand, PersistenceId, StreamHead,
};

use crate::case::{Case, case};
use crate::failure::{CaseResult, expect, expect_eq};
use crate::journal_steps::{expect_head, expect_numbers};
use crate::subject::Subject;
use crate::writer::fresh_id;

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(
        answer_no_command_of_a_type_it_does_not_know,
        ["J-COMMAND-1"]
    ),
    case!(
        change_nothing_by_a_command_it_does_not_know,
        ["J-COMMAND-2"]
    ),
];

/// A command that no journal knows.
struct Unheard(CommandRules);

impl JournalCommand for Unheard {
    type Answer = ();

    fn rules(&self) -> CommandRules {
        self.0.clone()
    }
}

/// Sends a command with each turn, and expects that none is known.
async fn send_one_of_each_turn(journal: &dyn Journal, id: &PersistenceId) -> CaseResult {
    for rules in [
        CommandRules::beside(),
        CommandRules::after(id.clone()),
        CommandRules::in_order(id.clone()),
        CommandRules::alone(),
    ] {
        let command = AnyCommand::new(Unheard(rules));
        let answer = journal.run_command(&command).await?;
        let text = format!("no answer to a command of a type that no journal knows, {command:?}");
        expect(answer.is_none(), text)?;
    }
    Ok(())
}

async fn answer_no_command_of_a_type_it_does_not_know(subject: Subject<dyn Journal>) -> CaseResult {
    let writer = subject.five_events().await?;
    send_one_of_each_turn(subject.store(), &writer.id).await
}

async fn change_nothing_by_a_command_it_does_not_know(subject: Subject<dyn Journal>) -> CaseResult {
    let (mut writer, unseen) = (subject.five_events().await?, fresh_id());
    let epoch = writer.taken.epoch;
    for id in [&writer.id, &unseen] {
        // What it returns is another clause.
        let _ = send_one_of_each_turn(subject.store(), id).await;
    }
    let subject = subject.restart().await?;
    let journal = subject.store();
    expect_head(journal, &writer.id, (5, 0, epoch)).await?;
    expect_numbers(journal, &writer.id, 1..=5).await?;
    let head = journal.read_head(&unseen).await?;
    expect_eq("head of an id never seen", head, StreamHead::default())?;
    writer.store(journal, 1).await
}
