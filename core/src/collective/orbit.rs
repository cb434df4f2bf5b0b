use crate::fabric::NodeId;

/// What an orbit's rows mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrbitKind {
    /// A row brings every node the chunk of the node at the row's offset behind it.
    Gather,
    /// A row moves every node's partial sum for the node at the row's offset behind it.
    Reduce,
    /// A row moves, for every node, its chunk for the node at the row's offset ahead of it by one hop.
    Exchange,
}

/// One step of all nodes together: each sends one chunk over its link of one generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// Step in which the links carry it, from 0.
    pub step: u32,
    /// Index of the generator.
    pub generator: u32,
    /// Offset of the chunk: for [`OrbitKind::Gather`] where it then is, seen from its origin; for
    /// [`OrbitKind::Reduce`] where it was, seen from its owner; for [`OrbitKind::Exchange`] the
    /// destination seen from the source.
    pub offset: NodeId,
    /// Number of the chunk among those of the same offset.
    pub chunk: u32,
}

/// A plan in which every node does the same, shifted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orbit {
    /// What the rows mean.
    pub kind: OrbitKind,
    /// Steps until the last chunk has arrived.
    pub steps: u32,
    /// What happens, by step.
    pub rows: Vec<Row>,
}

impl Orbit {
    /// The reduce-scatter that undoes an all-gather: time and links reversed (`opposite` names the
    /// generator against each one).
    #[must_use]
    pub fn reversed(&self, latency: u32, opposite: &[usize]) -> Self {
        let back = |row: &Row| Row {
            step: self.steps - 1 - latency - row.step,
            generator: opposite[row.generator as usize] as u32,
            ..*row
        };
        let mut rows: Vec<Row> = self.rows.iter().map(back).collect();
        rows.sort_unstable();
        Self { kind: OrbitKind::Reduce, steps: self.steps, rows }
    }
}
