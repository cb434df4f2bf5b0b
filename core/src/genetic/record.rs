use super::{Chromosome, Evaluation};
use crate::probe::ArbitrationCounts;
use std::collections::HashSet;

/// A chromosome worth keeping (cup-stacking-extended-2023, 6.3 and A.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Generation in which it was found.
    pub generation: u32,
    /// Its score.
    pub score: u64,
    /// What its simulation showed, everything included.
    pub evaluation: Evaluation,
    /// The chromosome.
    pub chromosome: Chromosome,
}

/// One generation of a search (cup-stacking-extended-2023, Fig. 4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Generation {
    /// Best score so far.
    pub best: u64,
    /// Mean score of the chromosomes evaluated in this generation, survivors left out; if it was
    /// asked for.
    pub average: Option<f64>,
}

/// The chromosomes of the best score so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Records {
    /// CRC-32 of the genes of every chromosome of the best score.
    signatures: HashSet<u32>,
    /// Smallest of each property among those recorded.
    least: [u64; 6],
    pub records: Vec<Record>,
}

impl Records {
    /// CRC-32 of all genes (cup-stacking-extended-2023, A.3).
    pub(super) fn signature(values: &[u32]) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        for value in values {
            hasher.update(&value.to_le_bytes());
        }
        hasher.finalize()
    }

    /// Forgets everything: there is a better score.
    pub(super) fn clear(&mut self) {
        self.signatures.clear();
        self.records.clear();
        self.least = [u64::MAX; 6];
    }

    /// Notes a signature; false if it is known.
    pub(super) fn note(&mut self, signature: u32) -> bool {
        self.signatures.insert(signature)
    }

    /// Keeps a chromosome if one of its properties (`ir`, `or`, `ib`, `ob`, `lb`, `T_e`) is smaller
    /// than in all recorded before it.
    pub(super) fn offer(&mut self, record: Record) {
        let properties = properties(&record.evaluation);
        if properties.iter().zip(&self.least).any(|(here, least)| here < least) {
            for (least, here) in self.least.iter_mut().zip(properties) {
                *least = here.min(*least);
            }
            self.records.push(record);
        }
    }
}

fn properties(evaluation: &Evaluation) -> [u64; 6] {
    let ArbitrationCounts {
        queue_in_order,
        queue_out_of_order,
        channel_in_order,
        channel_out_of_order,
        link_blocked,
    } = evaluation.counts.unwrap_or_default();
    [
        queue_in_order,
        queue_out_of_order,
        channel_in_order,
        channel_out_of_order,
        link_blocked,
        evaluation.thickness,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::router::Arbitration;

    #[test]
    fn the_signature_is_the_usual_crc_32() {
        // The check value of CRC-32/ISO-HDLC for "12345678" is 0x9ae0daaf.
        let values = [u32::from_le_bytes(*b"1234"), u32::from_le_bytes(*b"5678")];
        assert_eq!(Records::signature(&values), 0x9ae0_daaf);
    }

    #[test]
    fn only_improved_properties_are_recorded() {
        let mut records = Records::default();
        records.clear();
        let mut offer = |thickness, link_blocked| {
            let counts = ArbitrationCounts { link_blocked, ..Default::default() };
            let evaluation =
                Evaluation { duration: 9, thickness, span: 0, lateness: 0, counts: Some(counts) };
            let chromosome =
                Chromosome { interval: 0, delays: Vec::new(), arbitration: Arbitration::default() };
            records.offer(Record { generation: 0, score: 9, evaluation, chromosome });
            records.records.len()
        };
        assert_eq!([offer(5, 5), offer(5, 5), offer(6, 4), offer(5, 4), offer(4, 9)], [1, 1, 2, 2, 3]);
    }
}
