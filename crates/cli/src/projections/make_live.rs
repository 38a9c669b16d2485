//! The replacement of the live version.

use std::pin::pin;
use std::process;
use std::time::Duration;

use actix_persistence::Builder;
use anyhow::Context;

use super::Only;
use super::named::full;
use super::place::Journal;
use crate::outcome::{INTERRUPTED, Outcome};
use crate::output::say;
use crate::signals::Signals;

/// The arguments of `make-live`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    only: Only,
    /// The most seconds until the version has what the live one has.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    within: u64,
}

pub(super) fn run(builder: Builder, arguments: Arguments) -> anyhow::Result<Outcome> {
    let Only { name, place } = arguments.only;
    place.run(builder, &Journal::NotNeeded, async |opened| {
        let projection = name.find(&opened.projections).await?;
        let key = full(projection.key());
        let within = Duration::from_secs(arguments.within);
        let mut interrupts = Signals::new().context("could not listen for Ctrl-C")?;
        let made = async {
            let mut made = pin!(projection.make_live(None, within));
            tokio::select! {
                made = &mut made => return made,
                () = interrupts.next() => {}
            }
            eprintln!("ending once it is made live or given up, so that no version is left paused; Ctrl-C again ends at once");
            tokio::select! {
                made = &mut made => made,
                () = interrupts.next() => process::exit(i32::from(INTERRUPTED)),
            }
        };
        made.await.with_context(|| format!("could not make {key} live"))?;
        say(format_args!("{key} is live"))?;
        Ok(Outcome::Done)
    })
}
