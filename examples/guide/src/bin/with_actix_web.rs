//! Baskets behind an HTTP server of actix-web.
//!
//! ```text
//! cargo run -p guide --bin with_actix_web -- baskets.db 127.0.0.1:8080
//! curl -X PUT http://127.0.0.1:8080/baskets/ann/items/1
//! ```
#![allow(clippy::print_stdout)] // printing is what the program is for

use std::collections::{BTreeSet, HashMap};
use std::pin::pin;
use std::time::Duration;

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_web::http::StatusCode;
use actix_web::rt::signal::{ctrl_c, unix};
use actix_web::{App, HttpResponse, HttpServer, ResponseError, web};
use futures_util::future::select;
use futures_util::lock::Mutex;
use serde::{Deserialize, Serialize};

/// The event: an item was put into a basket.
#[derive(Serialize, Deserialize)]
struct ItemPut {
    key: u64,
}

impl Event for ItemPut {
    const MANIFEST: &'static str = "shop.item-put";
    const VERSION: u32 = 1;
}

struct Basket {
    owner: String,
    items: BTreeSet<u64>,
}

impl Actor for Basket {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Basket {
    type Event = ItemPut;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Basket", &self.owner)
    }

    fn on_event(&mut self, put: &ItemPut) {
        self.items.insert(put.key);
    }
}

/// Puts an item in; answers with the number of items. A repeated key changes nothing.
#[derive(Clone, Message)]
#[rtype(result = "Result<usize, PersistError>")]
struct PutItem {
    key: u64,
}

impl Handler<PutItem> for Basket {
    type Result = Reply<PutItem>;

    fn handle(&mut self, PutItem { key }: PutItem, ctx: &mut Self::Context) -> Reply<PutItem> {
        if self.items.contains(&key) {
            return Reply::now(Ok(self.items.len()));
        }
        ctx.persist(ItemPut { key })
            .reply(|basket| Ok(basket.items.len()))
    }
}

// ANCHOR: registry
/// Finds the actor of an id, and starts it if there is none.
struct Baskets {
    persistence: Persistence,
    arbiter: ArbiterHandle,
    live: Mutex<HashMap<String, Addr<Basket>>>,
}

impl Baskets {
    async fn of(&self, owner: &str) -> Result<Addr<Basket>, ShopError> {
        // Held over the start, so that two requests for a new id start one actor.
        let mut live = self.live.lock().await;
        if let Some(basket) = live.get(owner).filter(|basket| basket.connected()) {
            return Ok(basket.clone());
        }
        let id = owner.to_owned();
        let factory = move || Basket {
            owner: id.clone(),
            items: BTreeSet::new(),
        };
        let basket = self.persistence.start_in(&self.arbiter, factory).await?;
        live.insert(owner.to_owned(), basket.clone());
        Ok(basket)
    }
}
// ANCHOR_END: registry

// ANCHOR: status
#[derive(Debug, thiserror::Error)]
enum ShopError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("the command was not answered")]
    Unanswered(#[from] MailboxError),
    #[error(transparent)]
    Persist(#[from] PersistError),
}

impl ResponseError for ShopError {
    fn status_code(&self) -> StatusCode {
        match self {
            ShopError::Start(StartError::InvalidPersistenceId { .. }) => StatusCode::BAD_REQUEST,
            ShopError::Persist(PersistError::Rejected(_)) => StatusCode::UNPROCESSABLE_ENTITY,
            ShopError::Persist(PersistError::Conflict(_)) => StatusCode::CONFLICT,
            // The same request may be sent again: its key makes that harmless.
            _ => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status_code());
        if self.status_code() == StatusCode::SERVICE_UNAVAILABLE {
            response.insert_header(("Retry-After", "1"));
        }
        response.body(self.to_string())
    }
}
// ANCHOR_END: status

// ANCHOR: handler
async fn put_item(
    path: web::Path<(String, u64)>,
    baskets: web::Data<Baskets>,
) -> Result<HttpResponse, ShopError> {
    let (owner, key) = path.into_inner();
    let basket = baskets.of(&owner).await?;
    for _ in 0..10 {
        match basket.send(PutItem { key }).await? {
            // Another process has written in between; nothing is stored.
            Err(PersistError::Conflict(_)) => {}
            answer => return Ok(HttpResponse::Ok().body(answer?.to_string())),
        }
    }
    Ok(HttpResponse::Conflict().finish())
}
// ANCHOR_END: handler

// ANCHOR: signal
/// Listens at once; the future ends with Ctrl-C, or with SIGTERM of a supervisor.
fn signal() -> std::io::Result<impl Future<Output = ()>> {
    let mut terminate = unix::signal(unix::SignalKind::terminate())?;
    Ok(async move {
        select(pin!(ctrl_c()), pin!(terminate.recv())).await;
    })
}
// ANCHOR_END: signal

// ANCHOR: main
#[actix::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let database = arguments.next().unwrap_or("baskets.db".to_owned());
    let address = arguments.next().unwrap_or("127.0.0.1:8080".to_owned());

    let persistence = Persistence::sqlite(database).await?;
    let actors = Arbiter::new();
    let baskets = web::Data::new(Baskets {
        persistence: persistence.clone(),
        arbiter: actors.handle(),
        live: Mutex::default(),
    });
    let shared = baskets.clone(); // the server drops its own when it ends
    let server = HttpServer::new(move || {
        App::new()
            .app_data(shared.clone())
            .route("/baskets/{owner}/items/{key}", web::put().to(put_item))
    })
    .workers(2)
    .disable_signals() // they would stop the actix system, and with it the actors
    .shutdown_timeout(10)
    .bind(address)?;
    let signal = signal()?;
    println!("listening on {}", server.addrs()[0]);

    let server = server.run();
    let handle = server.handle();
    let serving = actix::spawn(server);
    signal.await;
    handle.stop(true).await; // every accepted request is answered
    serving.await??;
    let report = persistence.stop(Duration::from_secs(10)).await;
    println!("{report}");
    drop(baskets);
    actors.stop();
    Ok(())
}
// ANCHOR_END: main
