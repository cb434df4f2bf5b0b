//! A run in several parts: each has some of the nodes, and what crosses the borders is exchanged once
//! per cycle.
//!
//! Everything is decided from the state at the beginning of a cycle and a link takes a cycle at least,
//! so a part needs from its neighbours what they sent across the border in this cycle and how much
//! room is left behind it. It waits for its neighbours only: the parts before and behind it, and on twisted tori
//! those with its opposite rows. What concerns all of them (is
//! anything left to do, when does it go on) is agreed upon at stated cycles: cycles in which nothing
//! happens change nothing, so it does not matter if a few of them are run.

use super::{
    bell::{Bell, Lost, held},
    letterbox::{Letterbox, Watch},
    protocol::Quiescence,
};
use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, atomic::AtomicBool},
};

/// Cycles between two agreements of all parts.
const AGREE_EVERY: u64 = 32;

/// What goes to another part over an edge, and what comes from there. The buffers go round, so that nothing is
/// allocated in a cycle.
#[derive(Clone, Debug, Default)]
pub struct Message {
    /// The other part, and which of its messages meets this one: two parts may have several edges.
    pub part: usize,
    /// Its number there.
    pub there: usize,
    /// What goes.
    pub out: Vec<u64>,
    /// What comes.
    pub come: Vec<u64>,
}

impl Message {
    /// An empty one.
    pub(super) fn new(part: usize, there: usize) -> Self {
        Self { part, there, ..Self::default() }
    }
}

/// How a part meets the others.
pub trait Transport: Send {
    /// Sends what goes to the neighbours and receives what comes from them in the same cycle.
    ///
    /// # Errors
    /// A neighbour will send no more.
    fn exchange(&mut self, messages: &mut [Message]) -> Result<(), Lost>;
    /// The greatest value that any part gives, place by place.
    ///
    /// # Errors
    /// A part will give none.
    fn greatest(&mut self, values: [u64; 4]) -> Result<[u64; 4], Lost>;
    /// The sum of what the parts give, place by place; it wraps around.
    ///
    /// # Errors
    /// A part will give none.
    fn sum(&mut self, values: [u64; 3]) -> Result<[u64; 3], Lost>;
    /// What all parts give in their order, in bytes, for every part.
    ///
    /// # Errors
    /// A part will give none.
    fn collect(&mut self, own: Vec<u8>) -> Result<Vec<Vec<u8>>, Lost>;
}

/// One of several processes that run a network together, each a part of it.
#[derive(Clone)]
pub struct Rank {
    /// Which of them this is.
    pub rank: usize,
    /// How many there are.
    pub ranks: usize,
    transport: Arc<Mutex<Box<dyn Transport>>>,
}

impl Rank {
    /// One of so many processes, and how it meets the others.
    pub fn new(rank: usize, ranks: usize, transport: Box<dyn Transport>) -> Self {
        Self { rank, ranks, transport: Arc::new(Mutex::new(transport)) }
    }

    /// How it meets the others.
    pub(super) fn transport(&self) -> MutexGuard<'_, Box<dyn Transport>> {
        held(&self.transport)
    }

    /// Whether any process was told something.
    ///
    /// # Errors
    /// Another process has failed.
    pub(super) fn any(&self, told: bool) -> Result<bool, Lost> {
        Ok(self.transport().greatest([told.into(), 0, 0, 0])?[0] > 0)
    }
}

impl fmt::Debug for Rank {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "rank {} of {}", self.rank, self.ranks)
    }
}

/// A part of a network in motion.
pub(crate) trait Region: Send {
    /// Decides what happens in a cycle, and flits leave; false if nothing can happen in this part.
    fn leave(&mut self, cycle: u64, messages: &mut [Message]) -> bool;
    /// Whether flits leave only when it is known what room neighbours have made in the same cycle: messages go twice.
    fn leaves_late(&self) -> bool {
        false
    }
    /// Where they do, flits leave; false if nothing does.
    fn leave_late(&mut self, _cycle: u64, _messages: &mut [Message]) -> bool {
        false
    }
    /// Flits arrive, and the cycle is accounted for.
    fn arrive(&mut self, cycle: u64, messages: &mut [Message]);
    /// When the first waiting node has its next packet.
    fn next_wake(&self, cycle: u64) -> Option<u64>;
    /// The last cycle in which that was so for any node; the network is not quiet before it, even if all that
    /// start have to wait.
    fn woken(&self) -> u64 {
        0
    }
    /// Whether packets are in this part.
    fn is_busy(&self) -> bool;
    /// Whether cycles in which nothing moves may be left out.
    fn at_rest(&self) -> bool {
        true
    }
    /// What is summed over all parts at the beginning of a cycle, in the same cycles in all of them.
    fn sums(&self, _cycle: u64) -> Option<[u64; 3]> {
        None
    }
    /// Takes those sums.
    fn take_sums(&mut self, _sums: [u64; 3]) {}
    /// What all other parts must know of a cycle before the next one, if they must in every cycle.
    fn news(&mut self) -> Option<Vec<u8>> {
        None
    }
    /// Takes the news of all parts.
    fn receive_news(&mut self, _cycle: u64, _news: Vec<Vec<u8>>) {}
}

/// Runs a part from `cycle` to `until`, as [`advance`](super::protocol::advance) does a whole: all
/// parts return the same.
///
/// # Errors
/// Another part has failed.
pub(crate) fn advance<A: Region>(
    part: &mut A,
    transport: &mut dyn Transport,
    messages: &mut [Message],
    cycle: &mut u64,
    until: u64,
) -> Result<Option<Quiescence>, Lost> {
    while *cycle < until {
        let next = until.min((*cycle / AGREE_EVERY + 1) * AGREE_EVERY);
        // The first cycle from which on nothing happened here.
        let mut quiet = *cycle;
        for cycle in *cycle..next {
            if let Some(own) = part.sums(cycle) {
                part.take_sums(transport.sum(own)?);
            }
            let mut changes = part.leave(cycle, messages);
            if part.leaves_late() {
                transport.exchange(messages)?;
                changes |= part.leave_late(cycle, messages);
            }
            if changes {
                quiet = cycle + 1;
            }
            transport.exchange(messages)?;
            part.arrive(cycle, messages);
            if let Some(news) = part.news() {
                part.receive_news(cycle, transport.collect(news)?);
            }
        }
        quiet = quiet.max(part.woken());
        *cycle = next;
        let wake = part.next_wake(next).unwrap_or(u64::MAX);
        let [quiet, wake, busy, restless] =
            transport.greatest([quiet, !wake, part.is_busy().into(), (!part.at_rest()).into()])?;
        if quiet == next {
            continue;
        }
        match !wake {
            u64::MAX => {
                *cycle = quiet;
                return Ok(Some(if busy > 0 { Quiescence::Stuck } else { Quiescence::Finished }));
            }
            _ if restless > 0 => {}
            wake if wake >= until => return Ok(Some(Quiescence::Until(wake))),
            wake => *cycle = wake.max(next),
        }
    }
    Ok(None)
}

/// Where the threads of one process meet.
#[derive(Debug)]
struct Hub {
    /// Per part: what comes over each of its edges, and how often it came. A neighbour is one cycle ahead at most.
    boxes: Vec<Vec<(Letterbox<Vec<u64>, 2>, Bell)>>,
    /// What is agreed upon in this agreement, the next and the last.
    agreed: Letterbox<[u64; 4], 3>,
    given: Bell,
    /// Per part: what it gives to all in this collection and the next.
    boards: Vec<Letterbox<Vec<u8>, 2>>,
    put_up: Bell,
    failed: Arc<AtomicBool>,
}

/// A thread's side of it.
#[derive(Debug)]
pub(crate) struct Thread {
    hub: Arc<Hub>,
    part: usize,
    exchanges: u64,
    agreements: u64,
    collections: u64,
}

impl Thread {
    /// The sides of threads with so many messages each.
    pub(super) fn all(messages: impl Iterator<Item = usize>) -> Vec<Self> {
        let boxes: Vec<Vec<_>> =
            messages.map(|count| (0..count).map(|_| Default::default()).collect()).collect();
        let parts = boxes.len();
        let hub = Arc::new(Hub {
            boxes,
            agreed: Default::default(),
            given: Bell::default(),
            boards: (0..parts).map(|_| Default::default()).collect(),
            put_up: Bell::default(),
            failed: Arc::default(),
        });
        let of_part = |part| Self { hub: hub.clone(), part, exchanges: 0, agreements: 0, collections: 0 };
        (0..parts).map(of_part).collect()
    }

    /// What becomes of the values of all threads, added one after the other to what is agreed upon.
    fn agree(&mut self, add: impl FnOnce(&mut [u64; 4])) -> Result<[u64; 4], Lost> {
        let Hub { agreed, given, failed, boxes, .. } = &*self.hub;
        let this = self.agreements;
        add(&mut agreed.of(this));
        self.agreements += 1;
        given.ring();
        given.wait(self.agreements * boxes.len() as u64, failed)?;
        // All have left the last agreement, and nobody has begun the one after the next.
        *agreed.of(this + 2) = [0; 4];
        Ok(*agreed.of(this))
    }

    /// Tells the others when this thread panics.
    pub(super) fn watch(&self) -> Watch {
        Watch(self.hub.failed.clone())
    }
}

impl Transport for Thread {
    fn exchange(&mut self, messages: &mut [Message]) -> Result<(), Lost> {
        let this = self.exchanges;
        self.exchanges += 1;
        for Message { part, there, out, .. } in messages.iter_mut() {
            let (letterbox, posted) = &self.hub.boxes[*part][*there];
            std::mem::swap(out, &mut *letterbox.of(this));
            posted.ring();
        }
        for ((letterbox, posted), Message { come, .. }) in self.hub.boxes[self.part].iter().zip(messages) {
            posted.wait(self.exchanges, &self.hub.failed)?;
            std::mem::swap(come, &mut *letterbox.of(this));
        }
        Ok(())
    }

    fn greatest(&mut self, values: [u64; 4]) -> Result<[u64; 4], Lost> {
        self.agree(|all| all.iter_mut().zip(values).for_each(|(all, value)| *all = value.max(*all)))
    }

    fn sum(&mut self, values: [u64; 3]) -> Result<[u64; 3], Lost> {
        let add = |(all, value): (&mut u64, u64)| *all = all.wrapping_add(value);
        let [a, b, c, _] = self.agree(|all| all.iter_mut().zip(values).for_each(add))?;
        Ok([a, b, c])
    }

    fn collect(&mut self, own: Vec<u8>) -> Result<Vec<Vec<u8>>, Lost> {
        let Hub { boards, put_up, failed, .. } = &*self.hub;
        let this = self.collections;
        *boards[self.part].of(this) = own;
        self.collections += 1;
        put_up.ring();
        put_up.wait(self.collections * boards.len() as u64, failed)?;
        // Nobody writes here again before all have begun the next collection.
        Ok(boards.iter().map(|board| board.of(this).clone()).collect())
    }
}

/// What a part of a circle of so many exchanges with the one before and the one behind.
fn in_circle(part: usize, parts: usize) -> [Message; 2] {
    [Message::new((part + parts - 1) % parts, 1), Message::new((part + 1) % parts, 0)]
}

/// So many threads exchange messages of so many words so many times, with nothing else to do: what dividing a network
/// costs at least.
pub fn exchange_messages(parts: usize, words: usize, exchanges: u64) {
    let exchange_all = |mut thread: Thread| {
        let mut messages = in_circle(thread.part, parts);
        for exchange in 0..exchanges {
            for Message { out, .. } in &mut messages {
                out.clear();
                out.resize(words, exchange);
            }
            if thread.exchange(&mut messages).is_err() {
                break;
            }
        }
    };
    std::thread::scope(|scope| {
        for thread in Thread::all(std::iter::repeat_n(2, parts)) {
            scope.spawn(move || exchange_all(thread));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A part in which something happens in some cycles only.
    struct Toy {
        active: Vec<u64>,
        seen: Vec<u64>,
        number: u64,
        before: u64,
    }

    impl Region for Toy {
        fn leave(&mut self, cycle: u64, messages: &mut [Message]) -> bool {
            for Message { out, .. } in messages {
                out.clear();
                out.extend([self.number, cycle]);
            }
            self.seen.push(cycle);
            self.active.contains(&cycle)
        }

        fn arrive(&mut self, cycle: u64, messages: &mut [Message]) {
            assert_eq!(messages[0].come, [self.before, cycle]);
        }

        fn next_wake(&self, cycle: u64) -> Option<u64> {
            self.active.iter().copied().find(|&active| active >= cycle)
        }

        fn is_busy(&self) -> bool {
            false
        }
    }

    #[test]
    fn idle_stretches_are_skipped_and_all_agree() {
        for parts in [1, 2, 5] {
            let threads: Vec<_> = Thread::all(std::iter::repeat_n(2, parts))
                .into_iter()
                .zip(0..)
                .map(|(mut thread, number)| {
                    std::thread::spawn(move || {
                        let before = (number + parts as u64 - 1) % parts as u64;
                        let active = vec![3 + number, 70, 1_000_000 + number];
                        let mut toy = Toy { active, seen: Vec::new(), number, before };
                        let (mut cycle, mut messages) = (0, in_circle(number as usize, parts));
                        let mut rests = Vec::new();
                        for until in [50, 200, 2_000_000] {
                            let rest = advance(&mut toy, &mut thread, &mut messages, &mut cycle, until);
                            rests.push((rest, cycle));
                        }
                        assert!(toy.seen.len() < 400);
                        rests
                    })
                })
                .collect();
            let last = 1_000_000 + parts as u64;
            for thread in threads {
                let rests = thread.join().unwrap();
                // Nothing happens after cycle 3 + parts - 1: the run of 32 cycles and what is left.
                assert_eq!(rests[0], (Ok(Some(Quiescence::Until(70))), 32));
                assert_eq!(rests[1].0, Ok(Some(Quiescence::Until(1_000_000))));
                assert_eq!(rests[2], (Ok(Some(Quiescence::Finished)), last));
            }
        }
    }

    #[test]
    fn a_part_that_panics_ends_the_others() {
        let mut threads = Thread::all([1, 1].into_iter());
        let second = threads.pop().unwrap();
        let failing = std::thread::spawn(move || {
            let _watch = second.watch();
            panic!("on purpose");
        });
        assert!(failing.join().is_err());
        let mut messages = [Message::new(1, 0)];
        assert_eq!(threads[0].exchange(&mut messages), Err(Lost));
        assert_eq!(threads[0].greatest([0; 4]), Err(Lost));
    }
}
