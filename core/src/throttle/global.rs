use super::{
    Ask, Claims, Parameter, Seen, Sums, Surroundings,
    rule::{AtWork, Rule, number},
};
use crate::visit::{Visited, Visitor};

/// No header leaves while too many packets are in flight in the whole network, as it was one to two
/// periods of N cycles ago, N being the first size (after Thottethodi, Lebeck and Mukherjee 2001).
///
/// The tuned threshold begins at 1 % of the network's channel buffers. Every three periods: if fewer
/// than three quarters of the flits of the last three periods were ejected, it falls by 4 % of the
/// buffers; else, if a header was held, it rises by 1 %. After five times below half of the best, it
/// returns to where that was reached. Their extrapolation of the gathered state is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Global {
    /// Packets in flight; tuned at run time without a value.
    pub threshold: Option<u64>,
}

impl Rule for Global {
    const NAME: &'static str = "global";
    const SUMMARY: &'static str = "nobody begins while too many packets are in flight in the whole network";
    const PARAMETERS: &'static [Parameter] =
        &[Parameter::new("threshold", "a number of packets, at least 1, or tuned")];
    type AtWork = GlobalState;

    fn set(&mut self, _threshold: &str, value: &str) -> Option<()> {
        self.threshold = if value == "tuned" { None } else { Some(number(value, 1, u64::MAX)?) };
        Some(())
    }

    fn values(self) -> Vec<Option<String>> {
        vec![Some(self.threshold.map_or("tuned".to_owned(), |threshold| threshold.to_string()))]
    }

    fn claims(self) -> Claims {
        Claims { signals: false, sums: true, may_starve: true }
    }

    fn begin(self, around: Surroundings) -> GlobalState {
        GlobalState::new(around, self.threshold)
    }
}

/// [`Global`] in a network.
#[derive(Clone, Debug)]
pub struct GlobalState {
    period: u64,
    /// Packets in flight at the start of the period before this one and of this one.
    samples: [u64; 2],
    limit: Limit,
}

#[derive(Clone, Debug)]
enum Limit {
    Fixed(u64),
    Tuned(Tuner),
}

/// In hundredths of a packet, so that it stays whole.
#[derive(Clone, Debug)]
struct Tuner {
    buffers: u64,
    threshold: u64,
    ejected: u64,
    last: Option<u64>,
    /// Most flits ejected in three periods, and the threshold then.
    best: (u64, u64),
    below_half: u32,
    held: bool,
}

impl GlobalState {
    /// The throttle in an empty network; without a threshold it tunes its own.
    fn new(around: Surroundings, threshold: Option<u64>) -> Self {
        let links = around.shape.nodes() * around.shape.directions();
        let buffers = links as u64 * u64::from(around.rule.channels());
        let tuner = Tuner {
            buffers,
            threshold: buffers,
            ejected: 0,
            last: None,
            best: (0, 0),
            below_half: 0,
            held: false,
        };
        let limit = threshold.map_or(Limit::Tuned(tuner), Limit::Fixed);
        Self { period: around.shape.size(0).into(), samples: [0; 2], limit }
    }
}

impl AtWork for GlobalState {
    fn observe(&mut self, cycle: u64, sums: Sums, _seen: &impl Seen) {
        if cycle.is_multiple_of(self.period) {
            self.samples = [self.samples[1], sums.in_flight];
        }
        if let Limit::Tuned(tuner) = &mut self.limit {
            tuner.held |= sums.held;
            if cycle > 0 && cycle.is_multiple_of(3 * self.period) {
                tuner.tune(sums.ejected);
            }
        }
    }

    fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        // What sums over the whole network tell is known everywhere.
        let Self { period: _, samples, limit } = self;
        visitor.same(|archive| archive.slice("packets in flight", samples))?;
        match limit {
            Limit::Fixed(_) => Ok(()),
            Limit::Tuned(tuner) => tuner.visit(visitor),
        }
    }

    fn asks_for_sums(&self, cycle: u64) -> bool {
        cycle.is_multiple_of(self.period)
    }

    fn has_held(&self) -> bool {
        matches!(&self.limit, Limit::Tuned(tuner) if tuner.held)
    }

    fn may_begin(&self, cycle: u64, _ask: &Ask, _seen: &impl Seen) -> bool {
        self.all_may_begin(cycle) == Some(true)
    }

    /// Whether fewer packets than the threshold were in flight.
    fn all_may_begin(&self, cycle: u64) -> Option<bool> {
        let hundredths = match &self.limit {
            Limit::Fixed(threshold) => threshold.saturating_mul(100),
            Limit::Tuned(tuner) => tuner.threshold,
        };
        Some(cycle < self.period || self.samples[0].saturating_mul(100) < hundredths)
    }

    /// Whether it knows of no packet and tunes nothing.
    fn at_rest(&self) -> bool {
        self.samples == [0; 2] && matches!(self.limit, Limit::Fixed(_))
    }
}

impl Tuner {
    fn visit(&mut self, visitor: &mut impl Visitor) -> Visited {
        let Self { buffers: _, threshold, ejected, last, best, below_half, held } = self;
        visitor.same(|archive| {
            archive.number("threshold", threshold)?;
            archive.number("flits ejected", ejected)?;
            archive.option("flits of the last period", last)?;
            archive.number("most flits of a period", &mut best.0)?;
            archive.number("best threshold", &mut best.1)?;
            archive.number("periods below half", below_half)
        })?;
        visitor.any("held in the period", held)
    }

    fn tune(&mut self, ejected: u64) {
        let now = ejected.saturating_sub(std::mem::replace(&mut self.ejected, ejected));
        if self.last.is_some_and(|last| now.saturating_mul(4) < last.saturating_mul(3)) {
            self.threshold = self.threshold.saturating_sub(4 * self.buffers);
        } else if self.held {
            self.threshold = self.threshold.saturating_add(self.buffers);
        }
        self.threshold = self.threshold.max(self.buffers);
        (self.last, self.held) = (Some(now), false);
        if now > self.best.0 {
            self.best = (now, self.threshold);
        }
        self.below_half = if 2 * now < self.best.0 { self.below_half + 1 } else { 0 };
        if self.below_half == 5 {
            self.threshold = self.best.1;
            self.best.0 = now;
            self.below_half = 0;
        }
    }
}
