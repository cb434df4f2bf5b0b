use crate::{
    fabric::{Fabric, LinkId, common_divisor},
    schedule::{Demand, Problem},
};

/// Start and path of every job.
pub(super) type Starts = Vec<(u32, Vec<LinkId>)>;

/// What slots are for: one equally long packet per ordered pair of nodes, on a whole torus whose rings hold a
/// whole number of slots.
pub(super) struct AllToAll<'a> {
    pub fabric: &'a Fabric,
    pub problem: &'a Problem,
    /// Flits of a packet.
    pub length: u32,
    /// Greatest common divisor of the sizes: classes of nodes that slots pass at different times.
    pub lines: u32,
    /// Cycles between two slots.
    pub pitch: u32,
}

impl<'a> AllToAll<'a> {
    /// `None` if this is anything else.
    pub(super) fn of(fabric: &'a Fabric, problem: &'a Problem) -> Option<Self> {
        let shape = fabric.shape();
        let nodes = shape.nodes();
        let length = problem.jobs().first()?.length;
        let equal = problem
            .jobs()
            .iter()
            .all(|job| job.length == length && job.routes.len() == 1 && job.routes[0].uses.len() > 2);
        let wraps = (0..shape.dimensions()).all(|dimension| shape.wraps(dimension));
        if !equal || !wraps || shape.is_twisted() || problem.jobs().len() != nodes * (nodes - 1) {
            return None;
        }
        let sizes = (0..shape.dimensions()).map(|dimension| shape.size(dimension));
        let lines = sizes.reduce(common_divisor)?;
        // With more padding than a quarter, arbitrary starts are better.
        let pitch = (length..=length + length / 4).find(|&pitch| lines.is_multiple_of(pitch))?;
        Some(Self { fabric, problem, length, lines, pitch })
    }

    /// Source and destination of every job.
    pub(super) fn demands(&self) -> Vec<Demand> {
        self.problem.demands(self.fabric)
    }
}
