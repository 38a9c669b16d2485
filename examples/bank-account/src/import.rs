//! Books the lines of a file, those of thousands of accounts at once, in the file's order for each account.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::io;

use actix::{Addr, MailboxError};
use actix_persistence::StopReport;
use actix_persistence::prelude::*;
use anyhow::Context;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::mpsc;

use crate::progress::Progress;
use crate::receipts::Receipts;
use bank::lines::Line;
use bank::{Account, Book, BookError, Booked};

/// The most lines that are read ahead of their answers.
const MAX_UNDECIDED: usize = 10_000;

/// The result of an import.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    pub(crate) applied: u64,
    pub(crate) refused: u64,
    /// Decided before: by an earlier line, an earlier import, or an attempt of this one whose answer was lost.
    pub(crate) duplicate: u64,
    pub(crate) malformed: u64,
    /// The report of the stop, if the import was asked to end before the end of the file.
    pub(crate) interrupted: Option<StopReport>,
}

/// The state of an account that the file has named.
struct Open {
    address: Addr<Account>,
    /// True if one of its bookings is under way; there are never two, so that a failed one keeps its place.
    busy: bool,
    waiting: VecDeque<Booking>,
    /// True if its last booking failed and was sent again.
    is_failing: bool,
}

/// A line on its way.
struct Booking {
    account: String,
    line: u64,
    book: Book,
}

struct Answer {
    booking: Booking,
    result: Result<Result<Booked, BookError>, MailboxError>,
}

/// An import under way.
pub(crate) struct Import<'a> {
    persistence: &'a Persistence,
    accounts: HashMap<String, Open>,
    in_flight: FuturesUnordered<LocalBoxFuture<'static, Answer>>,
    /// The number of lines that are in flight or wait for one.
    undecided: usize,
    failing_accounts: usize,
    summary: Summary,
    progress: Progress,
    receipts: Receipts,
}

impl<'a> Import<'a> {
    pub(crate) fn new(
        persistence: &'a Persistence,
        progress: Progress,
        receipts: Receipts,
    ) -> Self {
        Self {
            persistence,
            accounts: HashMap::new(),
            in_flight: FuturesUnordered::new(),
            undecided: 0,
            failing_accounts: 0,
            summary: Summary::default(),
            progress,
            receipts,
        }
    }

    /// Books every line until the end, or until everything is `stopped`; nothing is read once it stops, and what was sent is waited for.
    ///
    /// While the database is away it waits and goes on by itself.
    /// An error ends it: what was decided stays, and running the same import again goes on where it ended.
    pub(crate) async fn run(
        mut self,
        mut lines: mpsc::Receiver<io::Result<Line>>,
        stopped: impl Future<Output = io::Result<StopReport>>,
    ) -> anyhow::Result<Summary> {
        let mut stopped = std::pin::pin!(stopped);
        let mut at_end = false;
        while !(at_end && self.in_flight.is_empty()) {
            let may_read = !at_end && self.undecided < MAX_UNDECIDED && !self.is_stopping();
            tokio::select! {
                biased;
                Some(answer) = self.in_flight.next() => self.take(answer)?,
                report = &mut stopped => {
                    self.summary.interrupted = Some(report?);
                    break;
                }
                line = lines.recv(), if may_read => match line.transpose()? {
                    Some(line) => self.read(line)?,
                    None => at_end = true,
                }
            }
        }
        while let Some(answer) = self.in_flight.next().await {
            self.take(answer)?;
        }
        self.progress.finish();
        Ok(self.summary)
    }

    fn is_stopping(&self) -> bool {
        self.persistence.is_stopping()
    }

    fn read(&mut self, line: Line) -> anyhow::Result<()> {
        self.progress.read(line.number, line.bytes_read);
        let (account, book) = match line.booking {
            Ok(booking) => booking,
            Err(defect) => {
                self.malformed(line.number, &defect);
                return Ok(());
            }
        };
        let booking = Booking {
            account,
            line: line.number,
            book,
        };
        let open = self.open(&booking.account)?;
        if open.busy {
            open.waiting.push_back(booking);
        } else {
            open.busy = true;
            self.send(booking);
        }
        self.undecided += 1;
        Ok(())
    }

    fn open(&mut self, name: &str) -> Result<&mut Open, StartError> {
        Ok(match self.accounts.entry(name.to_owned()) {
            Entry::Occupied(open) => open.into_mut(),
            Entry::Vacant(vacant) => {
                let name = name.to_owned();
                let address = self.persistence.start(move || Account::new(&name))?;
                vacant.insert(Open {
                    address,
                    busy: false,
                    waiting: VecDeque::new(),
                    is_failing: false,
                })
            }
        })
    }

    /// Sends a booking, for the first time or again: it is decided once.
    fn send(&mut self, booking: Booking) {
        let Some(open) = self.accounts.get(&booking.account) else {
            return;
        };
        let request = open.address.send(booking.book.clone());
        self.in_flight.push(
            async move {
                let result = request.await;
                Answer { booking, result }
            }
            .boxed_local(),
        );
    }

    fn take(&mut self, Answer { booking, result }: Answer) -> anyhow::Result<()> {
        if let Ok(told) = &result {
            self.receipts
                .write(&booking.account, &booking.book.id, told)
                .context("could not write a receipt")?;
        }
        let Booking { account, line, .. } = &booking;
        match result {
            Ok(Ok(Booked::Applied)) => self.summary.applied += 1,
            Ok(Ok(Booked::Refused)) => self.summary.refused += 1,
            Ok(Ok(Booked::Duplicate)) => self.summary.duplicate += 1,
            Ok(Err(BookError::Persist(PersistError::Rejected(cause)))) => {
                self.malformed(*line, &format!("cannot be stored: {cause}"));
            }
            // The report of the stop names the accounts that could not answer.
            Ok(Err(_)) | Err(_) if self.is_stopping() => {}
            Ok(Err(error)) if error.is_passing() => {
                self.send_again(booking, error);
                return Ok(());
            }
            Ok(Err(error)) => {
                return Err(anyhow::Error::new(error).context(format!(
                    "line {line}: booking on account {account:?} failed; import the file again to go on"
                )));
            }
            Err(_) => anyhow::bail!(
                "line {line}: account {account:?} does not answer, the log says why; import the file again to go on"
            ),
        }
        self.progress.decided();
        self.undecided -= 1;
        self.go_on_with(account);
        Ok(())
    }

    /// The actor paces this: after a failure it is recovered first, with a back-off, and the booking waits for that.
    fn send_again(&mut self, booking: Booking, error: BookError) {
        if let Some(open) = self.accounts.get_mut(&booking.account)
            && !std::mem::replace(&mut open.is_failing, true)
        {
            self.failing_accounts += 1;
            if self.failing_accounts == 1 {
                let (line, error) = (booking.line, anyhow::Error::new(error));
                let message = format!("line {line}: {error:#}; trying again until it works");
                self.progress.say(&message);
            }
        }
        self.send(booking);
    }

    /// Sends the next booking of an account whose last one was decided.
    fn go_on_with(&mut self, account: &str) {
        let stopping = self.is_stopping();
        let Some(open) = self.accounts.get_mut(account) else {
            return;
        };
        if std::mem::take(&mut open.is_failing) {
            self.failing_accounts -= 1;
        }
        match open.waiting.pop_front() {
            Some(next) if !stopping => self.send(next),
            _ => open.busy = false,
        }
    }

    fn malformed(&mut self, line: u64, defect: &str) {
        self.summary.malformed += 1;
        self.progress.say(&format!("line {line}: {defect}"));
    }
}
