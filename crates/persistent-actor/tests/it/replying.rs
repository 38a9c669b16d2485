//! The reply channel of a command is at hand in everything it leads to, and answers once.

use actix::fut::{ActorFutureExt, wrap_future};
use actix::{AsyncContext, Handler, MailboxError, Message};
use actix_persistence_persistent_actor::{PersistError, PersistentContext, Reply};

use crate::scripted_journal::Next;
use crate::tally::{Answer, Get, Log, Run, Tally, added, kind, persist};
use crate::world::{World, run};

/// Runs code in the actor that sees to the answer.
#[derive(Message)]
#[rtype(result = "Answer")]
struct Ask(Code);

type Code = Box<dyn FnOnce(&mut Tally, &mut PersistentContext<Tally>) -> Reply<Ask> + Send>;

impl Ask {
    /// The code leaves the answer to a handler.
    fn deferred(
        code: impl FnOnce(&mut Tally, &mut PersistentContext<Tally>) + Send + 'static,
    ) -> Self {
        Self::new(|tally, ctx| {
            code(tally, ctx);
            Reply::deferred()
        })
    }

    fn new(
        code: impl FnOnce(&mut Tally, &mut PersistentContext<Tally>) -> Reply<Self> + Send + 'static,
    ) -> Self {
        Self(Box::new(code))
    }
}

impl Handler<Ask> for Tally {
    type Result = Reply<Ask>;

    fn handle(&mut self, ask: Ask, ctx: &mut Self::Context) -> Reply<Ask> {
        (ask.0)(self, ctx)
    }
}

fn answer(ctx: &mut PersistentContext<Tally>, n: i64) -> Result<(), Answer> {
    ctx.reply_to::<Ask>().send(Ok(n))
}

#[test]
fn a_nested_handler_answers_the_command_that_caused_it() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let ask = Ask::deferred(|_, ctx| {
            persist(ctx, 1)
                .then(|_, _, ctx| {
                    ctx.persist_async(added(2))
                        .then(|_, _, ctx| {
                            ctx.defer(|tally, ctx| answer(ctx, 100 + tally.sum).unwrap())
                                .detach();
                        })
                        .detach();
                })
                .detach();
        });
        assert_eq!(tally.send(ask).await.unwrap().unwrap(), 103);
    });
}

#[test]
fn handlers_of_commands_in_between_answer_their_own_askers() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let asks: Vec<_> = (0..20)
            .map(|n| {
                tally.send(Ask::deferred(move |_, ctx| {
                    ctx.persist_async(added(n))
                        .then(move |_, _, ctx| {
                            ctx.defer_async(move |_, ctx| answer(ctx, n).unwrap())
                                .detach();
                        })
                        .detach();
                }))
            })
            .collect();
        journal.release(100);
        for (n, ask) in asks.into_iter().enumerate() {
            assert_eq!(ask.await.unwrap().unwrap(), n as i64);
        }
    });
}

#[test]
fn an_ask_is_answered_once_whoever_comes_first() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let ask = Ask::new(|_, ctx| {
            ctx.persist_all([added(1), added(2)])
                .for_each_event(|tally, event, ctx| {
                    let taken = answer(ctx, event.n).is_ok();
                    tally.log.add(format!("handler {} {taken}", event.n));
                })
                .reply(|tally| {
                    tally.log.add("answer computed");
                    Ok(tally.sum)
                })
        });
        assert_eq!(tally.send(ask).await.unwrap().unwrap(), 1);
        tally.send(Get).await.unwrap();
        let expected = [
            "event 1",
            "handler 1 true",
            "event 2",
            "handler 2 false",
            "answer computed",
        ];
        assert_eq!(log.take()[1..], expected);
    });
}

#[test]
fn the_channel_travels_into_a_spawned_future() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let ask = Ask::deferred(|_, ctx| {
            let reply_to = ctx.reply_to::<Ask>();
            let future = wrap_future::<_, Tally>(async {
                tokio::time::sleep(std::time::Duration::from_secs(5)).await;
            });
            ctx.spawn(future.map(|(), _, ctx: &mut PersistentContext<Tally>| {
                persist(ctx, 7)
                    .then(move |_, event, _| {
                        // FnMut: the channel is used once.
                        let _ = event;
                    })
                    .detach();
                reply_to.send(Ok(42)).unwrap();
            }));
        });
        assert_eq!(tally.send(ask).await.unwrap().unwrap(), 42);
    });
}

#[test]
fn a_timer_and_another_command_have_no_channel_of_the_first() {
    run(|| async {
        let ((world, journal), log) = (World::held(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let ask = tally.send(Ask::deferred(|_, ctx| {
            ctx.persist_async(added(1))
                .then(|_, _, ctx| answer(ctx, 1).unwrap())
                .detach();
            ctx.run_later(std::time::Duration::from_millis(1), |tally, ctx| {
                tally.log.add(format!("timer {}", answer(ctx, 5).is_ok()));
            });
        }));
        tally
            .send(Run::new(|tally, ctx| {
                tally.log.add(format!("command {}", answer(ctx, 5).is_ok()));
            }))
            .await
            .unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        assert_eq!(log.take()[1..], ["command false", "timer false"]);
        journal.release(1);
        assert_eq!(ask.await.unwrap().unwrap(), 1);
    });
}

#[test]
fn the_wrong_type_of_message_does_not_answer() {
    #[derive(Message)]
    #[rtype(result = "String")]
    struct Other;
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let ask = Ask::deferred(|_, ctx| {
            ctx.defer(|_, ctx| {
                let back = ctx.reply_to::<Other>().send("no".to_owned());
                assert_eq!(back, Err("no".to_owned()));
                answer(ctx, 3).unwrap();
            })
            .detach();
        });
        assert_eq!(tally.send(ask).await.unwrap().unwrap(), 3);
    });
}

#[test]
fn an_asker_without_an_answer_finds_its_channel_closed() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let ask = Ask::deferred(|_, ctx| {
            persist(ctx, 1).detach();
        });
        assert_eq!(tally.send(ask).await.unwrap_err(), MailboxError::Closed);
    });
}

#[test]
fn an_asker_whose_handler_never_runs_learns_of_the_rejection() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        journal.next(Next::RejectWritesOf(1));
        let ask = Ask::deferred(|_, ctx| {
            persist(ctx, 1)
                .then(|_, _, ctx| answer(ctx, 1).unwrap())
                .detach();
        });
        let error = tally.send(ask).await.unwrap().unwrap_err();
        assert_eq!(kind(&error), "Rejected");
    });
}

#[test]
fn a_handler_after_a_rejection_still_answers() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        journal.next(Next::RejectWritesOf(2));
        let ask = Ask::deferred(|_, ctx| {
            ctx.persist_all([added(1), added(2)]).detach();
            persist(ctx, 3)
                .then(|_, event, ctx| answer(ctx, event.n).unwrap())
                .detach();
        });
        assert_eq!(tally.send(ask).await.unwrap().unwrap(), 3);
    });
}

#[test]
fn an_asker_whose_handler_never_runs_learns_what_may_be_stored() {
    run(|| async {
        let ((world, journal), log) = (World::scripted(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let ask = || {
            Ask::deferred(|_, ctx| {
                persist(ctx, 1)
                    .then(|_, _, ctx| {
                        persist(ctx, 2)
                            .then(|_, _, ctx| answer(ctx, 2).unwrap())
                            .detach();
                    })
                    .detach();
            })
        };
        journal.next(Next::StoreButFailUnknown);
        let error = tally.send(ask()).await.unwrap().unwrap_err();
        assert_eq!(kind(&error), "Unknown");
    });
}

#[test]
fn a_panic_in_a_handler_tells_the_asker_that_its_event_is_stored() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let ask = Ask::deferred(|_, ctx| {
            persist(ctx, 1).then(|_, _, _| panic!("scripted")).detach();
            persist(ctx, 2)
                .then(|_, _, ctx| answer(ctx, 2).unwrap())
                .detach();
        });
        let error = tally.send(ask).await.unwrap().unwrap_err();
        assert!(matches!(error, PersistError::StoredUnanswered), "{error:?}");
        assert_eq!(tally.send(Get).await.unwrap(), 3);
    });
}

#[test]
fn a_panic_in_a_completion_fails_the_answers_after_it() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let ask = Ask::new(|_, ctx| {
            persist(ctx, 1)
                .on_complete(|_, _| panic!("scripted"))
                .reply(|tally| Ok(tally.sum))
        });
        let error = tally.send(ask).await.unwrap().unwrap_err();
        assert!(matches!(error, PersistError::StoredUnanswered), "{error:?}");
    });
}

#[test]
fn without_an_asker_an_answer_is_given_back() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally.do_send(Ask::deferred(|_, ctx| {
            persist(ctx, 1)
                .then(|tally, _, ctx| {
                    tally
                        .log
                        .add(format!("answered {}", answer(ctx, 1).is_ok()));
                })
                .detach();
        }));
        tally.send(Get).await.unwrap();
        assert_eq!(log.take()[2], "answered false");
    });
}

#[test]
fn an_answer_sees_the_number_of_its_own_event_among_many_of_persist_async() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let asks: Vec<_> = (1..=30)
            .map(|n| {
                tally.send(Ask::new(move |_, ctx| {
                    ctx.persist_async(added(n))
                        .reply_with(|_, ctx| Ok(ctx.last_sequence_nr() as i64))
                }))
            })
            .collect();
        for (expected, ask) in (1..).zip(asks) {
            assert_eq!(ask.await.unwrap().unwrap(), expected);
        }
    });
}

#[test]
fn an_answer_may_persist_and_a_rejected_event_has_none() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let ask = Ask::new(|_, ctx| {
            persist(ctx, 1).reply_with(|tally, ctx| {
                persist(ctx, 2).detach();
                Ok(tally.sum)
            })
        });
        assert_eq!(tally.send(ask).await.unwrap().unwrap(), 1);
        assert_eq!(tally.send(Get).await.unwrap(), 3);
        let refused = Ask::new(|_, ctx| {
            let mut large = added(4);
            large.ballast = "x".repeat(actix_persistence_persistent_actor::DEFAULT_EVENT_LIMIT);
            ctx.persist(large)
                .reply_with(|_, _| panic!("a rejected event is not answered as a stored one"))
        });
        let error = tally.send(refused).await.unwrap().unwrap_err();
        assert!(matches!(error, PersistError::Rejected(_)), "{error:?}");
    });
}

#[test]
fn the_handler_of_one_event_uses_up_what_it_was_given() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        tally.do_send(Ask::deferred(move |_, ctx| {
            persist(ctx, 7)
                .then(move |tally, _, _| sender.send(tally.sum).unwrap())
                .detach();
        }));
        assert_eq!(receiver.await, Ok(7));
    });
}
