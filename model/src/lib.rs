//! Model checks of the bell with which threads of `flitloom-core` wait for each other (`core/src/engine/bell.rs`, the
//! same file), with sleepers that wake only when they are woken: a wakeup that is lost is a deadlock, which the checker
//! (shuttle) reports. With one ring and one waiter, every order of their steps is run; with more, drawn ones.

#![cfg(test)]

mod sync {
    pub(crate) use shuttle::sync::{
        Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    };
    pub(crate) use std::sync::PoisonError;

    /// Unused by sleepers of the checker, which sleep until they are woken.
    pub(crate) const NAP: std::time::Duration = std::time::Duration::MAX;

    /// Looks once, since to look again changes nothing.
    #[derive(Default)]
    pub(crate) struct Patience;

    impl Patience {
        pub(crate) fn until(&mut self, done: impl Fn() -> bool) -> bool {
            done()
        }
    }
}

#[path = "../../core/src/engine/bell.rs"]
mod bell;

use bell::{Bell, Lost, held};
use shuttle::{check_dfs, check_pct, thread};
use std::sync::Arc;
use sync::{AtomicBool, Condvar, Mutex, Ordering};

/// How many orders are drawn of more threads than can be run in every order.
const ORDERS: usize = 20_000;

#[test]
fn a_waiter_is_woken_in_every_order() {
    check_dfs(
        || {
            let shared = Arc::new((Bell::default(), AtomicBool::new(false)));
            let ringing = shared.clone();
            let ringer = thread::spawn(move || ringing.0.ring());
            assert_eq!(shared.0.wait(1, &shared.1), Ok(()));
            ringer.join().unwrap();
        },
        None,
    );
}

#[test]
fn two_waiters_are_woken_and_see_what_was_written_before() {
    check_pct(
        || {
            let shared = Arc::new((Bell::default(), AtomicBool::new(false), Mutex::new(0)));
            let waiters: Vec<_> = (0..2)
                .map(|_| {
                    let shared = shared.clone();
                    thread::spawn(move || {
                        assert_eq!(shared.0.wait(1, &shared.1), Ok(()));
                        assert_eq!(*held(&shared.2), 7);
                    })
                })
                .collect();
            *held(&shared.2) = 7;
            shared.0.ring();
            for waiter in waiters {
                waiter.join().unwrap();
            }
        },
        ORDERS,
        4,
    );
}

#[test]
fn all_meet_twice() {
    check_pct(
        || {
            let shared = Arc::new((Bell::default(), AtomicBool::new(false)));
            let meet = |(bell, failed): &(Bell, AtomicBool)| {
                for round in 1..=2 {
                    bell.ring();
                    assert_eq!(bell.wait(2 * round, failed), Ok(()));
                }
            };
            let other = shared.clone();
            let thread = thread::spawn(move || meet(&other));
            meet(&shared);
            thread.join().unwrap();
        },
        ORDERS,
        4,
    );
}

#[test]
fn who_comes_after_a_failure_does_not_wait() {
    check_dfs(
        || {
            let bell = Bell::default();
            let failed = AtomicBool::new(true);
            assert_eq!(bell.wait(1, &failed), Err(Lost));
        },
        None,
    );
}

/// The checker finds what it is asked for: here whoever rings looks for sleepers before it counts.
#[test]
#[should_panic(expected = "deadlock")]
fn a_bell_that_looks_for_sleepers_first_is_found() {
    #[derive(Default)]
    struct Hasty {
        count: sync::AtomicU64,
        sleepers: sync::AtomicU64,
        lock: Mutex<()>,
        rung: Condvar,
    }
    check_dfs(
        || {
            let shared = Arc::new(Hasty::default());
            let ringing = shared.clone();
            let ringer = thread::spawn(move || {
                let asleep = ringing.sleepers.load(Ordering::SeqCst) > 0;
                ringing.count.fetch_add(1, Ordering::SeqCst);
                if asleep {
                    drop(held(&ringing.lock));
                    ringing.rung.notify_all();
                }
            });
            shared.sleepers.fetch_add(1, Ordering::SeqCst);
            let mut guard = held(&shared.lock);
            while shared.count.load(Ordering::SeqCst) < 1 {
                guard = shared.rung.wait(guard).unwrap();
            }
            drop(guard);
            ringer.join().unwrap();
        },
        None,
    );
}
