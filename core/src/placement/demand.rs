//! Who sends how much to whom.

use crate::fault::Fault;

/// What is wrong with traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DemandError {
    /// More rows than fit.
    Pairs(usize),
    /// A rank that is not there.
    Rank {
        /// The row, from 0 on.
        row: usize,
        /// What it names.
        rank: u32,
        /// The last rank.
        last: u32,
    },
    /// More units than sums can hold.
    Units(u64),
}

crate::fault::displays_fault!(DemandError);

impl DemandError {
    /// What is wrong, in parts.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Pairs(pairs) => Fault::at(
                "traffic",
                format!("{pairs} pairs"),
                format!("at most {} are placed", Demand::MAX_PAIRS),
            ),
            Self::Rank { row, rank, last } => Fault::at(
                "traffic",
                format!("row {row} names rank {rank}"),
                format!("there are ranks 0 to {last}"),
            ),
            Self::Units(units) => Fault::at(
                "traffic",
                format!("{units} units in all"),
                format!("at most {}: divide all of them", Demand::MAX_UNITS),
            ),
        }
    }
}

/// What one rank exchanges with another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The other rank.
    pub rank: u32,
    /// Units sent to it.
    pub sent: u64,
    /// Units received from it.
    pub received: u64,
}

/// Traffic between ranks: whole numbers, directed.
pub struct Demand {
    starts: Vec<u32>,
    peers: Vec<Peer>,
    /// Greatest common divisor of all units.
    divisor: u64,
}

impl Demand {
    /// Pairs at most.
    pub const MAX_PAIRS: usize = 1 << 26;
    /// Units in all at most, so that no sum overflows.
    pub const MAX_UNITS: u64 = 1 << 46;

    /// Traffic of rows (source, destination, units); rows of the same pair add up, what a rank sends to itself is left out.
    ///
    /// # Errors
    ///
    /// A rank that is not there, or more units than sums can hold.
    pub fn new(ranks: u32, rows: &[(u32, u32, u64)]) -> Result<Self, DemandError> {
        if rows.len() > Self::MAX_PAIRS {
            return Err(DemandError::Pairs(rows.len()));
        }
        let mut units = 0u64;
        for (row, &(source, destination, amount)) in rows.iter().enumerate() {
            let rank = source.max(destination);
            if rank >= ranks {
                return Err(DemandError::Rank { row, rank, last: ranks.saturating_sub(1) });
            }
            units = units.saturating_add(amount);
        }
        if units > Self::MAX_UNITS {
            return Err(DemandError::Units(units));
        }
        let mut halves: Vec<(u32, u32, u64, u64)> = Vec::with_capacity(2 * rows.len());
        for &(source, destination, amount) in rows.iter().filter(|row| row.0 != row.1 && row.2 > 0) {
            halves.push((source, destination, amount, 0));
            halves.push((destination, source, 0, amount));
        }
        halves.sort_unstable();
        let mut starts = vec![0; ranks as usize + 1];
        let mut peers: Vec<Peer> = Vec::new();
        let mut last = None;
        for (rank, other, sent, received) in halves {
            if last == Some((rank, other)) {
                if let Some(peer) = peers.last_mut() {
                    peer.sent += sent;
                    peer.received += received;
                }
                continue;
            }
            last = Some((rank, other));
            starts[rank as usize + 1] += 1;
            peers.push(Peer { rank: other, sent, received });
        }
        for rank in 0..ranks as usize {
            starts[rank + 1] += starts[rank];
        }
        let divisor = peers.iter().fold(0, |divisor, peer| gcd(divisor, peer.sent)).max(1);
        Ok(Self { starts, peers, divisor })
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        self.starts.len() - 1
    }

    /// With whom a rank exchanges what, by rank.
    #[inline]
    pub fn peers(&self, rank: u32) -> &[Peer] {
        &self.peers[self.starts[rank as usize] as usize..self.starts[rank as usize + 1] as usize]
    }

    /// Pairs that exchange something, counted from both sides.
    pub fn entries(&self) -> usize {
        self.peers.len()
    }

    /// With how many others a rank exchanges something at most.
    pub fn most_peers(&self) -> u64 {
        self.starts.windows(2).map(|pair| u64::from(pair[1] - pair[0])).max().unwrap_or(0)
    }

    /// Greatest common divisor of all units.
    pub fn divisor(&self) -> u64 {
        self.divisor
    }

    /// All units that a rank sends, and receives.
    pub fn totals(&self, rank: u32) -> (u64, u64) {
        self.peers(rank)
            .iter()
            .fold((0, 0), |(sent, received), peer| (sent + peer.sent, received + peer.received))
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
