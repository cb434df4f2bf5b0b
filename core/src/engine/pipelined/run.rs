//! A run: what a cycle is.

use super::{
    breach::Breach,
    flit::Flit,
    routers::{AnyRouters, Cycle, Routers},
    rules::Rules,
    source::Source,
    subnet::Subnet,
    terminals::Terminals,
};

/// Routers of the general engine that take as long as one of these, and as many as let the loop over cycles leave them
/// alone for 64 cycles.
const AS_LONG_AS: usize = 8;
/// As above.
const MOST_ROUTERS: usize = 1 << 13;

/// Networks and nodes in motion, with the source of their packets.
#[derive(Clone, Debug)]
pub(crate) struct Run<S: Source> {
    pub source: S,
    pub terminals: Terminals,
    pub(super) subnets: Vec<Subnet<S>>,
    arrived: Vec<(u32, Flit)>,
    ends: Vec<usize>,
}

impl<S: Source> Run<S> {
    /// A run at its beginning.
    pub(crate) fn new(rules: Rules, subnets: Vec<Subnet<S>>, source: S) -> Self {
        let terminals = Terminals::new(rules, subnets.len());
        Self { source, terminals, subnets, arrived: Vec::new(), ends: Vec::new() }
    }

    /// Whether neither flits nor credits are left.
    pub(crate) fn is_empty(&self) -> bool {
        self.terminals.in_flight() == 0 && self.subnets.iter().all(|subnet| subnet.routers.is_quiet())
    }

    /// Routers of the general engine that take as long as all of these, as far as the loop over cycles is to know.
    pub(crate) fn routers_as_fast(&self) -> usize {
        (self.terminals.rules.wiring.routers() * AS_LONG_AS).min(MOST_ROUTERS)
    }

    /// Begins once more with empty nodes at cycle 0; what allocators and numbers remember stays.
    pub(crate) fn restart(&mut self) {
        self.terminals.clear();
    }

    /// Does something with the routers of every subnet between two cycles.
    pub(super) fn on_routers<T>(
        &mut self,
        mut what: impl FnMut(&mut dyn Routers<S>, &mut Cycle<'_>) -> T,
    ) -> Vec<T> {
        let Self { source, terminals, subnets, .. } = self;
        let each = |Subnet { routers, shared, .. }: &mut Subnet<S>| {
            what(&mut **routers, &mut terminals.at(source, shared))
        };
        subnets.iter_mut().map(each).collect()
    }

    /// Puts what routers become between two cycles in their place, if they become anything.
    pub(super) fn change(
        &mut self,
        mut what: impl FnMut(&mut dyn Routers<S>, &mut Cycle<'_>) -> Option<AnyRouters<S>>,
    ) {
        let changed = self.on_routers(|routers, cycle| what(routers, cycle));
        for (subnet, changed) in self.subnets.iter_mut().zip(changed) {
            if let Some(changed) = changed {
                subnet.routers = changed;
            }
        }
    }

    /// Routers that are saved as sets become sets.
    pub(super) fn become_sets(&mut self) {
        self.change(|routers, cycle| Some(Box::new(routers.as_sets(cycle)?)));
    }

    /// One cycle.
    pub(crate) fn cycle(&mut self) {
        let Self { source, terminals, subnets, arrived, ends } = self;
        if terminals.in_flight() > 0 {
            terminals.standstill += 1;
            if terminals.standstill > Breach::STANDSTILL {
                terminals.breach = Some(Breach::Deadlock);
            }
        }
        for subnet in &mut *subnets {
            subnet.receive(source, terminals, arrived);
            ends.push(arrived.len());
        }
        source.make(terminals);
        for (number, Subnet { routers, shared, .. }) in subnets.iter_mut().enumerate() {
            routers.inject(source, terminals, shared, number);
        }
        source.accept(terminals, arrived);
        ends.pop();
        ends.push(arrived.len());
        let mut from = 0;
        for (Subnet { routers, shared, .. }, end) in subnets.iter_mut().zip(ends.drain(..)) {
            routers.retire(source, terminals, shared, &arrived[from..end]);
            from = end;
        }
        arrived.clear();
        for subnet in &mut *subnets {
            let breach = subnet.step(source, terminals);
            terminals.breach = breach.or(terminals.breach);
        }
        for subnet in subnets {
            subnet.send(source, terminals);
        }
        terminals.now += 1;
    }
}
