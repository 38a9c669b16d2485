//! Looking at projections, and managing them.

mod change;
mod list;
mod make_live;
mod named;
mod parked;
mod place;
mod reset;
mod show;
mod standing;
mod watch;

use actix_persistence::Builder;

use crate::outcome::Outcome;
use named::Named;
use place::Place;

/// The commands of `projections`.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// List the projections of an offset store.
    List(list::Arguments),
    /// Show the shares of a projection: progress, holder, attempts, and the reason why one is halted.
    Show(show::Arguments),
    /// Follow the progress of a projection until Ctrl-C, or until it has caught up.
    Watch(watch::Arguments),
    /// Let no process go on with a projection until it is resumed.
    Pause(Only),
    /// Let all processes go on with a projection, and with shares that were halted.
    Resume(Only),
    /// Let a projection handle everything after a place again.
    Reset(reset::Arguments),
    /// Divide the work of a projection into so many shares; nothing is lost or handled twice.
    Divide {
        #[command(flatten)]
        only: Only,
        /// The number of shares, from 1 to 1024.
        #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
        shares: u16,
    },
    /// Print what a projection has skipped, the latest first.
    Skipped(show::SkippedArguments),
    /// Print the persistence ids that a projection has parked, or the items of one that wait.
    Parked(parked::ListArguments),
    /// Ask for what is parked to be handed to the handler again.
    Retry(parked::RetryArguments),
    /// Ask for what is parked to be skipped, for good.
    Drop(parked::DropArguments),
    /// Remove a projection with all that the offset store keeps of it; its read model stays.
    Remove {
        #[command(flatten)]
        only: Only,
        /// Remove it, for good.
        #[arg(long)]
        yes: bool,
    },
    /// Make a version live, from which applications read then, in the place of the one that is.
    MakeLive(make_live::Arguments),
}

/// The projection that a command is about.
#[derive(clap::Args)]
pub(crate) struct Only {
    /// The projection; the version may be left out if there is only one.
    #[arg(value_name = "NAME[@VERSION]")]
    name: Named,
    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(builder: Builder, command: Command) -> anyhow::Result<Outcome> {
    match command {
        Command::List(arguments) => list::run(builder, arguments),
        Command::Show(arguments) => show::run(builder, arguments),
        Command::Watch(arguments) => watch::run(builder, arguments),
        Command::Pause(only) => change::pause(builder, only),
        Command::Resume(only) => change::resume(builder, only),
        Command::Reset(arguments) => reset::run(builder, arguments),
        Command::Divide { only, shares } => change::divide(builder, only, shares),
        Command::Skipped(arguments) => show::skipped(builder, arguments),
        Command::Parked(arguments) => parked::list(builder, arguments),
        Command::Retry(arguments) => parked::retry(builder, arguments),
        Command::Drop(arguments) => parked::drop(builder, arguments),
        Command::Remove { only, yes } => change::remove(builder, only, yes),
        Command::MakeLive(arguments) => make_live::run(builder, arguments),
    }
}
