//! How many packets a node sends in a batch.

use super::options::{OptionError, Options};

/// How many packets a node sends.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    /// Packets of a node in a batch.
    pub size: u32,
    /// Batches of a run.
    pub count: u32,
    /// How many of a node may be under way, or waiting for a reply; `None`: any number.
    most: Option<u32>,
    /// By node how many are.
    pub outstanding: Vec<u32>,
    /// How long every batch of this run took, in cycles.
    pub durations: Vec<u32>,
}

impl Batch {
    /// What `sim_type = batch` means; `None` for other types.
    pub(super) fn from_options(options: &Options, nodes: usize) -> Result<Option<Self>, OptionError> {
        if options.text("sim_type") != "batch" {
            return Ok(None);
        }
        let most = options.whole("max_outstanding_requests")?;
        Ok(Some(Self {
            size: options.within("batch_size", 0..=1 << 30)? as u32,
            count: options.within("batch_count", 1..=1 << 30)? as u32,
            most: (most > 0).then_some(most as u32),
            outstanding: vec![0; nodes],
            durations: Vec::new(),
        }))
    }

    /// Whether a node that has made so many packets makes another one.
    pub(super) fn asks_for_more(&self, made: u32, node: usize) -> bool {
        made < self.size && self.most.is_none_or(|most| self.outstanding[node] < most)
    }
}
