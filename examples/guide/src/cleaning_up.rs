//! The members of a gym, some of whom leave and shall be forgotten.
//!
//! ```text
//! cargo run -p guide -- cleaning_up gym.db visit ann ben cem
//! cargo run -p guide -- cleaning_up gym.db leave ann cem
//! cargo run -p guide -- cleaning_up gym.db forget ann ben cem
//! ```

use actix::prelude::*;
use actix_persistence::{
    cleanup::{Numbers, Task},
    prelude::*,
};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
enum MemberEvent {
    Visited,
    // ANCHOR: left
    /// The last event of a member: a reader of events learns from it that there will be no more.
    Left,
    // ANCHOR_END: left
}

impl Event for MemberEvent {
    const MANIFEST: &'static str = "gym.member";
    const VERSION: u32 = 1;
}

struct Member {
    name: String,
    visits: u64,
    has_left: bool,
}

impl Member {
    fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            visits: 0,
            has_left: false,
        }
    }
}

impl Actor for Member {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Member {
    type Event = MemberEvent;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Member", &self.name)
    }

    fn on_event(&mut self, event: &MemberEvent) {
        match event {
            MemberEvent::Visited => self.visits += 1,
            MemberEvent::Left => self.has_left = true,
        }
    }
}

#[derive(Message)]
#[rtype(result = "Result<u64, PersistError>")]
struct Visit;

impl Handler<Visit> for Member {
    type Result = Reply<Visit>;

    fn handle(&mut self, _: Visit, ctx: &mut Self::Context) -> Reply<Visit> {
        ctx.persist(MemberEvent::Visited)
            .reply(|member| Ok(member.visits))
    }
}

#[derive(Message)]
#[rtype(result = "Result<(), PersistError>")]
struct Leave;

impl Handler<Leave> for Member {
    type Result = Reply<Leave>;

    fn handle(&mut self, _: Leave, ctx: &mut Self::Context) -> Reply<Leave> {
        ctx.persist(MemberEvent::Left).reply(|_| Ok(()))
    }
}

fn start(persistence: &Persistence, name: String) -> Result<Addr<Member>, StartError> {
    persistence.start(move || Member::named(&name))
}

// ANCHOR: forget
/// Deletes everything of those who have left.
async fn forget(persistence: &Persistence, names: Vec<String>) -> anyhow::Result<()> {
    let mut gone = Vec::new();
    for name in names {
        let member = persistence.replay(Member::named(&name)).await?.actor;
        if member.has_left {
            gone.push(member.persistence_id());
        }
    }
    let cleanup = persistence.cleanup();
    let task = Task::DeleteAll(Numbers::Reset);
    for id in &gone {
        println!("{id}: {}", cleanup.preview(task, id).await?);
    }
    let batch = cleanup
        .batch(task)
        .parallelism(4)
        .on_progress(1_000, |progress| {
            println!("{} members are forgotten", progress.done);
        });
    let report = batch.run(gone).await?;
    println!("done, {} members are forgotten", report.done);
    Ok(())
}
// ANCHOR_END: forget

#[actix::main]
pub(crate) async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(2);
    let database = arguments.next().unwrap_or_else(|| "gym.db".to_owned());
    let command = arguments.next().unwrap_or_default();
    let persistence = Persistence::sqlite(database).await?;
    match command.as_str() {
        "visit" => {
            for name in arguments {
                let member = start(&persistence, name.clone())?;
                println!("{name}: visit {}", member.send(Visit).await??);
            }
        }
        "leave" => {
            for name in arguments {
                let member = start(&persistence, name)?;
                member.send(Leave).await??;
            }
        }
        "forget" => forget(&persistence, arguments.collect()).await?,
        _ => anyhow::bail!("say visit, leave or forget, and the names of members"),
    }
    Ok(())
}
