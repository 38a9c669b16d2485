//! Keeps the orders of a customer, with events in protobuf and personal data that can be forgotten.
//!
//! ```text
//! cargo run -p guide -- personal_data shop.db shop-keys register Ada ada@example.org
//! cargo run -p guide -- personal_data shop.db shop-keys order 1250
//! cargo run -p guide -- personal_data shop.db shop-keys forget
//! ```
//!
//! In the place of the file may be the URL of a database on PostgreSQL, MariaDB or MySQL, and its password in the variable
//! `SHOP_PASSWORD`.
//! `note TEXT` keeps a note about the parcels, which is about nobody and so is not encrypted.
//!
//! Each run prints what is known of the customer. With `wait` as the last argument it then waits for the end of its input.

use std::borrow::Cow;
use std::collections::HashMap;
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use actix::prelude::*;
use actix_persistence::{
    Config,
    payload::{
        Compression, CurrentKey, DecodeError, EncodeError, EncodedPayload, Encoder, EncryptionKey,
        FoundKey, FromPayload, KeyId, KeyStore, Shredded, ToPayload,
    },
    prelude::*,
};
use anyhow::Context;
use prost::Message as Protobuf;
use serde::{Deserialize, Serialize};

// ANCHOR: events
/// The id of protobuf in the stores of this program.
const PROTOBUF: u32 = 1_000;

const REGISTERED: &str = "shop.registered";
const ORDERED: &str = "shop.ordered";
const NOTED: &str = "shop.noted";
const FORGOTTEN: &str = "shop.forgotten";

#[derive(Clone, PartialEq, prost::Message)]
struct Registered {
    #[prost(string, tag = "1")]
    customer: String,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(string, tag = "3")]
    email: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Ordered {
    #[prost(uint64, tag = "1")]
    cents: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Noted {
    #[prost(string, tag = "1")]
    text: String,
}

enum CustomerEvent {
    Registered(Registered),
    Ordered(Ordered),
    Noted(Noted),
    /// The personal data of the customer is gone.
    Forgotten,
}

impl ToPayload for CustomerEvent {
    fn to_payload(&self, encoder: Encoder<'_>) -> Result<EncodedPayload, EncodeError> {
        let (manifest, bytes) = match self {
            CustomerEvent::Registered(event) => (REGISTERED, event.encode_to_vec()),
            CustomerEvent::Ordered(event) => (ORDERED, event.encode_to_vec()),
            CustomerEvent::Noted(event) => (NOTED, event.encode_to_vec()),
            CustomerEvent::Forgotten => (FORGOTTEN, Vec::new()),
        };
        encoder.with_manifest(manifest).bytes::<PROTOBUF>(&bytes)
    }
}

impl FromPayload for CustomerEvent {
    const MANIFESTS: &'static [&'static str] = &[REGISTERED, ORDERED, NOTED, FORGOTTEN];

    fn from_payload(stored: &Stored<'_>) -> Result<Self, DecodeError> {
        let bytes = stored.bytes_of::<PROTOBUF>()?;
        let event = match stored.manifest() {
            REGISTERED => Registered::decode(bytes).map(CustomerEvent::Registered),
            ORDERED => Ordered::decode(bytes).map(CustomerEvent::Ordered),
            NOTED => Noted::decode(bytes).map(CustomerEvent::Noted),
            FORGOTTEN => Ok(CustomerEvent::Forgotten),
            _ => return Err(stored.unknown_manifest()),
        };
        event.map_err(|error| stored.failed(error))
    }
}
// ANCHOR_END: events

// ANCHOR: subject
impl Event for CustomerEvent {
    const MANIFEST: &'static str = "shop.customer";
    const VERSION: u32 = 1;

    fn data_subject(&self) -> Option<Cow<'_, str>> {
        match self {
            CustomerEvent::Registered(event) => Some(event.customer.as_str().into()),
            CustomerEvent::Ordered(_) | CustomerEvent::Noted(_) | CustomerEvent::Forgotten => None,
        }
    }

    fn shredded(what: &Shredded<'_>) -> Option<Self> {
        (what.manifest == REGISTERED).then_some(CustomerEvent::Forgotten)
    }
}
// ANCHOR_END: subject

// ANCHOR: snapshot
/// The name and the orders of a customer.
#[derive(Clone, Serialize, Deserialize)]
struct Known {
    customer: String,
    person: Option<Person>,
    cents: Vec<u64>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Person {
    name: String,
    email: String,
}

impl Snapshot for Known {
    const MANIFEST: &'static str = "shop.known";
    const VERSION: u32 = 1;
    const COMPRESSION: Option<Compression> = Some(Compression::Zstd { min_bytes: 64 });

    fn data_subject(&self) -> Option<Cow<'_, str>> {
        self.person.as_ref().map(|_| self.customer.as_str().into())
    }
}
// ANCHOR_END: snapshot

struct Customer {
    known: Known,
}

impl Customer {
    fn new() -> Self {
        Self {
            known: Known {
                customer: "4711".to_owned(),
                person: None,
                cents: Vec::new(),
            },
        }
    }
}

impl Actor for Customer {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Customer {
    type Event = CustomerEvent;
    type Snapshot = Known;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Customer", &self.known.customer)
    }

    fn on_event(&mut self, event: &CustomerEvent) {
        match event {
            CustomerEvent::Registered(registered) => {
                self.known.person = Some(Person {
                    name: registered.name.clone(),
                    email: registered.email.clone(),
                });
            }
            CustomerEvent::Ordered(ordered) => self.known.cents.push(ordered.cents),
            // For those who pack.
            CustomerEvent::Noted(_) => {}
            CustomerEvent::Forgotten => self.known.person = None,
        }
    }

    fn on_snapshot(&mut self, offer: SnapshotOffer<Known>) {
        self.known = offer.snapshot;
    }

    fn retention(&self) -> Option<Retention<Self>> {
        Some(Retention::snapshot_every(3, |customer: &Self| {
            customer.known.clone()
        }))
    }
}

/// Stores an event.
#[derive(Message)]
#[rtype(result = "Result<(), PersistError>")]
struct Store(CustomerEvent);

impl Handler<Store> for Customer {
    type Result = Reply<Store>;

    fn handle(&mut self, Store(event): Store, ctx: &mut Self::Context) -> Reply<Store> {
        ctx.persist(event).reply(|_| Ok(()))
    }
}

/// Answers with what is known of the customer.
#[derive(Message)]
#[rtype(result = "String")]
struct Show;

impl Handler<Show> for Customer {
    type Result = String;

    fn handle(&mut self, _: Show, ctx: &mut Self::Context) -> String {
        let person = match &self.known.person {
            Some(Person { name, email }) => format!("{name} <{email}>"),
            None => "somebody".to_owned(),
        };
        let (orders, cents) = (self.known.cents.len(), self.known.cents.iter().sum::<u64>());
        let from = ctx.snapshot_sequence_nr();
        format!("{person}: {orders} orders, {cents} cents (from snapshot {from})")
    }
}

// ANCHOR: keys
/// Keys in a folder of their own, and in memory: a file for each, whose name is the id of the key.
struct FileKeys {
    folder: PathBuf,
    keys: Mutex<HashMap<KeyId, FileKey>>,
}

/// The key of a subject; none if it was destroyed.
struct FileKey {
    subject: String,
    key: Option<EncryptionKey>,
}

impl KeyStore for FileKeys {
    fn current_key(&self, subject: &str) -> Result<CurrentKey, Box<dyn Error + Send + Sync>> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let current = keys.iter().find_map(|(id, file)| {
            let key = file.key.clone().filter(|_| file.subject == subject)?;
            let id = id.clone();
            Some(CurrentKey { id, key })
        });
        if let Some(current) = current {
            return Ok(current);
        }
        // Stored before anything is encrypted with it. It takes as long as the disk does, once for each subject.
        let (id, key) = (self.new_id()?, EncryptionKey::random()?);
        let mut file = File::create_new(self.path_of(&id))?;
        file.write_all(key.as_bytes())?;
        file.write_all(subject.as_bytes())?;
        file.sync_all()?;
        File::open(&self.folder)?.sync_all()?;
        let stored = FileKey {
            subject: subject.to_owned(),
            key: Some(key.clone()),
        };
        keys.insert(id.clone(), stored);
        Ok(CurrentKey { id, key })
    }

    fn find_key(&self, id: &KeyId) -> Result<FoundKey, Box<dyn Error + Send + Sync>> {
        let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(match keys.get(id).map(|file| &file.key) {
            Some(Some(key)) => FoundKey::Key(key.clone()),
            Some(None) => FoundKey::Destroyed,
            None => FoundKey::Unknown,
        })
    }
}
// ANCHOR_END: keys

impl FileKeys {
    /// Loads all keys.
    fn open(folder: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(folder)?;
        let mut keys = HashMap::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let id = KeyId::new(name.context("a key has an odd name")?.as_bytes())?;
            keys.insert(id, load(&path)?);
        }
        Ok(Self {
            folder: folder.to_owned(),
            keys: Mutex::new(keys),
        })
    }

    /// Destroys the keys of a subject; their ids are kept.
    fn destroy(&self, subject: &str) -> io::Result<()> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        for (id, file) in keys.iter_mut().filter(|(_, file)| file.subject == subject) {
            let emptied = File::create(self.path_of(id))?;
            emptied.sync_all()?;
            file.key = None;
        }
        Ok(())
    }

    /// Returns 16 random letters and digits.
    fn new_id(&self) -> anyhow::Result<KeyId> {
        let random = EncryptionKey::random()?;
        let hex = random.as_bytes()[..8].iter();
        let name: String = hex.map(|byte| format!("{byte:02x}")).collect();
        Ok(KeyId::new(name.as_bytes())?)
    }

    fn path_of(&self, id: &KeyId) -> PathBuf {
        self.folder.join(&*String::from_utf8_lossy(id.as_bytes()))
    }
}

/// Reads a file: a key and its subject, or nothing, if it was destroyed. One that was cut off is damaged, which is another
/// thing.
fn load(path: &Path) -> anyhow::Result<FileKey> {
    let mut bytes = Vec::new();
    File::open(path)?.read_to_end(&mut bytes)?;
    if bytes.is_empty() {
        let subject = String::new();
        return Ok(FileKey { subject, key: None });
    }
    let split = bytes.split_first_chunk();
    let (key, subject) = split.with_context(|| format!("{} is cut off", path.display()))?;
    Ok(FileKey {
        subject: String::from_utf8_lossy(subject).into_owned(),
        key: Some(EncryptionKey::new(key)),
    })
}

// ANCHOR: config
/// Stores everything in one database, which is a file unless it is a URL.
fn config(database: &str) -> Config {
    let kind = match database.split_once("://") {
        Some((kind, _)) => kind,
        None => "sqlite",
    };
    let config = Config::new().with("persistence.journal.shop.compression", "zstd");
    let stores = ["journal", "snapshot-store"].into_iter();
    stores.fold(config, |config, store| {
        let section = format!("persistence.{store}.shop");
        let config = config
            .with(&format!("persistence.{store}.plugin"), "shop")
            .with(&format!("{section}.kind"), kind)
            .with(&format!("{section}.url"), database)
            .with(&format!("{section}.auto-initialize"), true);
        match kind {
            "sqlite" => config,
            _ => config.with(&format!("{section}.password-env"), "SHOP_PASSWORD"),
        }
    })
}
// ANCHOR_END: config

#[actix::main]
pub(crate) async fn main() -> anyhow::Result<()> {
    let arguments: Vec<_> = std::env::args().skip(2).collect();
    let [database, folder, command @ ..] = &arguments[..] else {
        anyhow::bail!(
            "personal_data DATABASE KEYS [register NAME EMAIL | order CENTS... | note TEXT | forget] [wait]"
        );
    };
    // ANCHOR: open
    let keys = Arc::new(FileKeys::open(Path::new(folder))?);
    let persistence = Persistence::builder()
        .config(config(database))
        .key_store(Arc::clone(&keys) as Arc<dyn KeyStore>)
        .open()
        .await?;
    // ANCHOR_END: open
    let customer = persistence.start(Customer::new)?;
    let (waits, command) = match command {
        [command @ .., last] if last == "wait" => (true, command),
        command => (false, command),
    };
    match command {
        [first, name, email] if first == "register" => {
            let event = Registered {
                customer: "4711".to_owned(),
                name: name.clone(),
                email: email.clone(),
            };
            let event = CustomerEvent::Registered(event);
            customer.send(Store(event)).await??;
        }
        [first, orders @ ..] if first == "order" => {
            for cents in orders {
                let cents = cents.parse()?;
                let event = CustomerEvent::Ordered(Ordered { cents });
                customer.send(Store(event)).await??;
            }
        }
        [first, text] if first == "note" => {
            let text = text.clone();
            let event = CustomerEvent::Noted(Noted { text });
            customer.send(Store(event)).await??;
        }
        // ANCHOR: forget
        [first] if first == "forget" => {
            // First the actor: what it knows would be stored again with a new key.
            customer.send(Store(CustomerEvent::Forgotten)).await??;
            keys.destroy("4711")?;
        }
        // ANCHOR_END: forget
        _ => {}
    }
    println!("{}", customer.send(Show).await?);
    // Snapshots are waited for by nobody else.
    persistence.drained().await;
    if waits {
        println!("waiting");
        io::stdin().read_to_end(&mut Vec::new())?;
    }
    Ok(())
}
