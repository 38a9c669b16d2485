//! Moves parcels about until its standard input ends, and tells every answer on its standard output.
//!
//! Made to be killed; the tests run it as `parcels CONFIG PARCELS PLACES`.

mod parcel;
mod place_counts;

use std::cell::Cell;
use std::error::Error;
use std::io::{self, Write};
use std::rc::Rc;
use std::time::Duration;

use actix::prelude::*;
use actix_persistence::Config;
use actix_persistence::prelude::*;

use crate::parcel::{Move, Parcel};
use crate::place_counts::PlaceCounts;

/// The number of moves that are under way at the same time; those of one parcel wait for each other.
const MOVERS: usize = 16;
/// One move in so many takes the parcel away.
const DELETES: u32 = 10;
/// The time for which the program waits in the end for what is under way.
const STOP_DEADLINE: Duration = Duration::from_secs(30);

#[actix::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let log = tracing_subscriber::fmt().with_writer(io::stderr);
    log.with_ansi(false).init();
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [config, parcels, places] = &arguments[..] else {
        return Err("usage: parcels CONFIG PARCELS PLACES".into());
    };
    let (parcels, places) = (parcels.parse::<u32>()?, places.parse::<i64>()?);

    let builder = Persistence::builder().config(Config::from_file(config)?);
    let builder = builder.change_handler("place-counts", PlaceCounts);
    let persistence = builder.open().await?;
    let parcels = (0..parcels).map(|number| persistence.start(move || Parcel::new(number)));
    let parcels: Rc<[_]> = parcels.collect::<Result<_, _>>()?;

    let ended = Rc::new(Cell::new(false));
    let mover = |_| actix::spawn(move_about(Rc::clone(&parcels), places, Rc::clone(&ended)));
    let movers: Vec<_> = (0..MOVERS).map(mover).collect();
    // It also ends with whoever started us.
    tokio::io::copy(&mut tokio::io::stdin(), &mut tokio::io::sink()).await?;
    ended.set(true);
    for mover in movers {
        mover.await??;
    }
    let report = persistence.stop(STOP_DEADLINE).await;
    if report.is_complete() {
        Ok(())
    } else {
        Err(report.to_string().into())
    }
}

/// Moves one parcel after the other, and tells of each before the next.
async fn move_about(
    parcels: Rc<[Addr<Parcel>]>,
    places: i64,
    ended: Rc<Cell<bool>>,
) -> io::Result<()> {
    while !ended.get() {
        let parcel = &parcels[fastrand::usize(..parcels.len())];
        let to = (fastrand::u32(..DELETES) > 0).then(|| fastrand::i64(0..places));
        let told = match parcel.send(Move { to }).await {
            Ok(Ok(moved)) => moved.to_string(),
            Ok(Err(error)) => format!("failed: {error}"),
            Err(error) => format!("failed: {error}"),
        };
        // One call of the system, so that lines do not mix; whoever is killed in it leaves a line without its end.
        writeln!(io::stdout(), "{told}")?;
    }
    Ok(())
}
