use crate::{
    engine::{Options, SimulationError},
    fabric::NodeId,
    probe::{ArbitrationCounts, ArbitrationUse, OutputChannel},
    router::ChannelScheme,
};

/// What a simulation of a chromosome showed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evaluation {
    /// `T_d` in cycles; of a single slice the height `t_d`.
    pub duration: u64,
    /// Effective thickness `T_e`: the largest occupation `oc` of any link in cycles (Eq. 4); 0 if it
    /// was not asked for.
    pub thickness: u64,
    /// Span of the network in cycles, what the cup-stacking papers print as `T_e`
    /// ([`LinkOccupation::span`](crate::probe::LinkOccupation::span)); 0 if `thickness` was not asked for.
    pub span: u64,
    /// [`Outcome::lateness`](crate::engine::Outcome::lateness).
    pub lateness: u128,
    /// Lost arbitrations and blocked links, if they were asked for.
    pub counts: Option<ArbitrationCounts>,
}

/// A prepared network whose settings are changed in place; one or more of them side by side.
pub(super) trait Evaluator: Send {
    /// Networks side by side.
    fn lanes(&self) -> usize;
    fn set_interval(&mut self, lane: usize, cycles: u64);
    fn set_delay(&mut self, lane: usize, node: NodeId, cycles: u64);
    fn set_scheme(&mut self, lane: usize, node: NodeId, port: u8, scheme: ChannelScheme);
    fn set_port_list(&mut self, lane: usize, output: OutputChannel, list: &[u8]);
    /// Simulates all lanes.
    fn run(&mut self, options: &Options) -> Result<(), SimulationError>;
    /// What the last simulation showed.
    fn seen(&self, lane: usize) -> Evaluation;
    /// Which settings mattered in it, if known.
    fn used(&self, lane: usize) -> Option<&ArbitrationUse>;
}

/// What a search makes small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Objective {
    /// The duration.
    #[default]
    Duration,
    /// The effective thickness (cup-stacking-2022, 4.3).
    Thickness,
    /// The span of the network, what the cup-stacking papers print as effective thickness.
    Span,
    /// `T_e (S - 1) + t_d` of a single slice (cup-stacking-extended-2023, Eq. 8).
    Estimate {
        /// `S`: slices the estimate is for.
        slices: u32,
    },
}

impl Objective {
    /// All of them by name, the estimate for a single slice.
    pub const NAMES: [(&'static str, Self); 4] = [
        ("duration", Self::Duration),
        ("thickness", Self::Thickness),
        ("span", Self::Span),
        ("estimate", Self::Estimate { slices: 1 }),
    ];

    /// The score of an evaluation in cycles; smaller is better.
    pub fn score(self, evaluation: &Evaluation) -> u64 {
        match self {
            Self::Duration => evaluation.duration,
            Self::Thickness => evaluation.thickness,
            Self::Span => evaluation.span,
            Self::Estimate { slices } => {
                evaluation.thickness * u64::from(slices.saturating_sub(1)) + evaluation.duration
            }
        }
    }

    /// Whether it needs the effective thickness or the span.
    pub fn needs_thickness(self) -> bool {
        self != Self::Duration
    }
}

named! {
    /// By what chromosomes are sorted before crossover (cup-stacking-extended-2023, Table 5).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum SortKey {
        /// T01: by score alone.
        #[default]
        Score = "score",
        /// T02: by score, then VC allocations lost out of order (`or`).
        OutOfOrderQueues = "or",
        /// T03: by score, then switch allocations lost out of order (`ob`).
        OutOfOrderChannels = "ob",
        /// T04: by score, then effective thickness.
        Thickness = "thickness",
        /// T05: by score, then effective thickness, the largest first.
        ThicknessReversed = "thickness-reversed",
        /// T06: by score, then all switch allocations lost (`tb = ib + ob`).
        ChannelSelections = "tb",
        /// T07: by score, then blocked links (`lb`).
        BlockedLinks = "lb",
        /// T09: by effective thickness alone.
        ThicknessOnly = "thickness-only",
    }
}

impl SortKey {
    /// The key of an evaluation of the given score; chromosomes are sorted from small to large.
    pub fn key(self, score: u64, evaluation: &Evaluation) -> (u64, u64) {
        let counts = evaluation.counts.unwrap_or_default();
        match self {
            Self::Score => (score, 0),
            Self::OutOfOrderQueues => (score, counts.queue_out_of_order),
            Self::OutOfOrderChannels => (score, counts.channel_out_of_order),
            Self::Thickness => (score, evaluation.thickness),
            Self::ThicknessReversed => (score, u64::MAX - evaluation.thickness),
            Self::ChannelSelections => (score, counts.channel_in_order + counts.channel_out_of_order),
            Self::BlockedLinks => (score, counts.link_blocked),
            Self::ThicknessOnly => (evaluation.thickness, 0),
        }
    }

    /// Whether it needs the effective thickness.
    pub fn needs_thickness(self) -> bool {
        matches!(self, Self::Thickness | Self::ThicknessReversed | Self::ThicknessOnly)
    }

    /// Whether it needs the counts of lost arbitrations.
    pub fn needs_counts(self) -> bool {
        !self.needs_thickness() && self != Self::Score
    }
}
