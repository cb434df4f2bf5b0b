//! Messages that wait for each other: sends, receives and computations of ranks.

/// What an operation does.
#[derive(Clone, Copy, Debug)]
pub enum What {
    /// Sends so many flits to a rank, for an operation of that rank that receives them.
    Send(usize, usize, usize),
    Receive,
    /// Computes for so many cycles.
    Compute(usize),
}

/// An operation of a rank, and those that must be complete before, by their numbers.
#[derive(Clone, Debug)]
pub struct Operation {
    pub rank: usize,
    pub what: What,
    pub after: Vec<usize>,
}

/// A packet of a send.
pub struct Part {
    pub send: usize,
    pub destination: usize,
    pub size: usize,
    pub start: usize,
}

pub struct Messages<'a> {
    operations: &'a [Operation],
    nodes: &'a [usize],
    payload: usize,
    /// By operation: when it is complete, if that is known; of sends the flits to be sent and the packets to arrive.
    complete: Vec<Option<usize>>,
    left: Vec<usize>,
    packets: Vec<usize>,
    /// By receive, the cycle behind that in which its message had arrived.
    received: Vec<Option<usize>>,
}

impl<'a> Messages<'a> {
    pub fn new(operations: &'a [Operation], nodes: &'a [usize], payload: usize) -> Self {
        let flits = |one: &Operation| if let What::Send(_, flits, _) = one.what { flits } else { 0 };
        let left: Vec<usize> = operations.iter().map(flits).collect();
        let packets = left.iter().map(|flits| flits.div_ceil(payload).max(1)).collect();
        let count = operations.len();
        let (complete, received) = (vec![None; count], vec![None; count]);
        Self { operations, nodes, payload, complete, left, packets, received }
    }

    /// When all that an operation waits for is complete, if that is known.
    fn ready(&self, operation: usize) -> Option<usize> {
        let after = self.operations[operation].after.iter();
        after.map(|&before| self.complete[before]).try_fold(0, |most, end| Some(most.max(end?)))
    }

    /// Works out whatever follows from what is known.
    fn settle(&mut self) {
        // Operations stand behind those that they wait for.
        for operation in 0..self.operations.len() {
            let ready = self.ready(operation);
            match self.operations[operation].what {
                What::Send(..) => {}
                What::Receive => {
                    let both = ready.zip(self.received[operation]);
                    self.complete[operation] = both.map(|(ready, came)| ready.max(came));
                }
                What::Compute(cycles) => self.complete[operation] = ready.map(|ready| ready + cycles),
            }
        }
    }

    /// The next packet of a node: a message that was begun goes on, else the one that has been ready for longest.
    pub fn take(&mut self, node: usize, now: usize) -> Option<Part> {
        self.settle();
        let mut best: Option<(bool, usize, usize)> = None;
        for (send, operation) in self.operations.iter().enumerate() {
            let What::Send(_, flits, _) = operation.what else { continue };
            let Some(ready) = self.ready(send) else { continue };
            if self.nodes[operation.rank] == node && self.complete[send].is_none() && ready <= now {
                let one = (self.left[send] == flits, ready, send);
                best = Some(best.map_or(one, |best| best.min(one)));
            }
        }
        let (_, start, send) = best?;
        let What::Send(to, ..) = self.operations[send].what else { return None };
        let payload = self.left[send].min(self.payload);
        self.left[send] -= payload;
        if self.left[send] == 0 {
            self.complete[send] = Some(now);
        }
        Some(Part { send, destination: self.nodes[to], size: payload + 1, start })
    }

    /// The tail of a packet of a send has arrived.
    pub fn arrived(&mut self, send: usize, now: usize) {
        self.packets[send] -= 1;
        if let What::Send(_, _, receive) = self.operations[send].what
            && self.packets[send] == 0
        {
            self.received[receive] = Some(now + 1);
        }
    }

    /// Whether nothing is left to be sent.
    pub fn are_sent(&self) -> bool {
        let is_sent = |(number, one): (usize, &Operation)| {
            !matches!(one.what, What::Send(..)) || self.complete[number].is_some()
        };
        self.operations.iter().enumerate().all(is_sent)
    }

    /// When the last operation is complete; `None` if that is not known.
    pub fn end(&mut self) -> Option<usize> {
        self.settle();
        self.complete.iter().try_fold(0, |most, end| Some(most.max((*end)?)))
    }
}
