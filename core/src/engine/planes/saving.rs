//! The state of the planes as fields, in the order of the nodes: the same for vectors of any width.

use super::{
    block::{Block, Full, LINK_QUEUES, Packet, Precedence, QUEUES, X_QUEUES, Y_QUEUES},
    injection::Account,
    machine::Machine,
};
use crate::{
    bits::{Vector, words, words_mut},
    save::{Archive, SaveError},
};

impl<V: Vector, const K: usize> Block<V, K> {
    fn planes(&mut self, visit: &mut impl FnMut(&mut V)) {
        let Self { occupancy, owned_x, owned_y, owned_p, route_x, route_y, precedence, hops } = self;
        occupancy.as_flattened_mut().iter_mut().for_each(&mut *visit);
        owned_x.as_flattened_mut().iter_mut().for_each(&mut *visit);
        owned_y.as_flattened_mut().iter_mut().for_each(&mut *visit);
        owned_p.iter_mut().for_each(&mut *visit);
        route_x.as_flattened_mut().iter_mut().for_each(&mut *visit);
        route_y.iter_mut().for_each(&mut *visit);
        hops.iter_mut().for_each(&mut *visit);
        let Precedence { x, y0, y1, p0, p1, p2, label_x, label_y, label_p } = precedence;
        x.as_flattened_mut().iter_mut().for_each(&mut *visit);
        y0.as_flattened_mut().iter_mut().for_each(&mut *visit);
        y1.as_flattened_mut().iter_mut().for_each(&mut *visit);
        p0.iter_mut().for_each(&mut *visit);
        p1.iter_mut().for_each(&mut *visit);
        p2.iter_mut().for_each(&mut *visit);
        label_x.as_flattened_mut().iter_mut().for_each(&mut *visit);
        label_y.as_flattened_mut().iter_mut().for_each(&mut *visit);
        label_p.iter_mut().for_each(visit);
    }
}

impl<V: Vector> Full<V> {
    fn planes(&mut self, visit: &mut impl FnMut(&mut V)) {
        let Self { x, y } = self;
        x.as_flattened_mut().iter_mut().for_each(&mut *visit);
        y.as_flattened_mut().iter_mut().for_each(visit);
    }
}

impl<V: Vector> Packet<V> {
    fn planes(&mut self, visit: &mut impl FnMut(&mut V)) {
        let Self { ready, output } = self;
        visit(ready);
        output.iter_mut().for_each(visit);
    }
}

/// The rows of one block among those of all blocks.
fn rows_of<T>(rows: &mut [T], block: usize, blocks: usize) -> &mut [T] {
    let each = rows.len() / blocks;
    &mut rows[block * each..][..each]
}

impl<V: Vector, const K: usize> Machine<V, K> {
    /// All planes of one block that outlive a cycle, always in the same order.
    fn planes(&mut self, block: usize, visit: &mut impl FnMut(&mut V)) {
        let Self {
            // What it was made of.
            tiling,
            proof: _,
            rules: _,
            length: _,
            columns: _,
            rows: _,
            rotations: _,
            arbitration_planes: _,
            exempt: _,
            batch_sources: _,
            in_batches: _,
            fingerprints: _,
            latencies: _,
            network: _,
            pace: _,
            // What is saved beside the planes.
            tags: _,
            stop: _,
            durations: _,
            injection: _,
            // What does not outlive a cycle, or a run from its beginning.
            links: _,
            x_links: _,
            y_links: _,
            events: _,
            totals: _,
            ejected: _,
            log_limit: _,
            // The planes.
            blocks,
            full,
            packets,
            counters,
            x_rows,
            packet_rows,
            y_rows,
            more_x,
            more_y,
            used,
            ejected_tags,
            registers,
            occupation,
        } = self;
        let number = tiling.blocks();
        blocks[block].planes(visit);
        full[block].planes(visit);
        packets[block].planes(visit);
        let counters: &mut [[V; QUEUES]] = rows_of(counters, block, number);
        counters.as_flattened_mut().iter_mut().for_each(&mut *visit);
        for (queues, packet) in
            rows_of(x_rows, block, number).iter_mut().zip(rows_of(packet_rows, block, number))
        {
            queues.iter_mut().for_each(&mut *visit);
            visit(packet);
        }
        let y_rows: &mut [[V; Y_QUEUES]] = rows_of(y_rows, block, number);
        y_rows.as_flattened_mut().iter_mut().for_each(&mut *visit);
        let more_x: &mut [[V; X_QUEUES]] = rows_of(more_x, block, number);
        more_x.as_flattened_mut().iter_mut().for_each(&mut *visit);
        let more_y: &mut [[V; Y_QUEUES]] = rows_of(more_y, block, number);
        more_y.as_flattened_mut().iter_mut().for_each(&mut *visit);
        let used: &mut [[V; LINK_QUEUES]] = rows_of(used, block, number);
        used.as_flattened_mut().iter_mut().for_each(&mut *visit);
        let tags: &mut [[V; 3]] = rows_of(ejected_tags, block, number);
        tags.as_flattened_mut().iter_mut().for_each(&mut *visit);
        if let Some(registers) = registers.get_mut(block) {
            registers.planes(visit);
        }
        if let Some(occupation) = occupation {
            occupation.planes(block, visit);
        }
    }

    /// The state of a single network as fields.
    pub(super) fn archive(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        let mut tag_bits = self.rules.widths.tag as u64;
        archive.number("tag bits", &mut tag_bits)?;
        if tag_bits != 0 && tag_bits != self.tag_bits_needed() as u64 {
            return Err(SaveError::Value { field: "tag bits", value: tag_bits });
        }
        self.set_tag_bits(tag_bits as usize);
        self.injection.set_logs(tag_bits != 0);
        let mut from = self.tags.from;
        archive.number("tags from", &mut from)?;
        archive.option("tags check", &mut self.tags.check)?;
        self.tags.from = from;
        archive.number("stop", &mut self.stop)?;
        self.archive_account(archive)?;
        if let Some(occupation) = &mut self.occupation {
            occupation.archive_bits(archive)?;
        }
        self.archive_planes(archive)?;
        let ready: Vec<bool> = (0..self.injection.places.len()).map(|node| self.is_ready(node)).collect();
        self.injection.archive(archive, &ready)
    }

    /// What was counted; restored, as if the first row had counted it.
    fn archive_account(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        let mut sum = self.injection.account(0);
        let Account { loaded, start_sum, delivered, delivery_sum, flit_hops, fingerprint, lateness } =
            &mut sum;
        archive.number("duration", &mut self.durations[0])?;
        archive.number("packets loaded", loaded)?;
        archive.number("sum of starts", start_sum)?;
        archive.number("packets delivered", delivered)?;
        archive.number("delivery sum", delivery_sum)?;
        archive.number("flit-hops", flit_hops)?;
        archive.number("fingerprint", fingerprint)?;
        archive.number("lateness", lateness)?;
        if archive.is_reading() {
            self.injection.rows.iter_mut().for_each(|row| row.accounts[0] = Account::default());
            self.injection.rows[0].accounts[0] = sum;
        }
        Ok(())
    }

    fn is_ready(&self, node: usize) -> bool {
        let place = self.injection.places[node] as usize;
        let (block, lane) = (place / V::BITS, place % V::BITS);
        words(&[self.packets[block].ready])[lane / 64] >> (lane % 64) & 1 == 1
    }

    fn archive_planes(&mut self, archive: &mut Archive) -> Result<(), SaveError> {
        let blocks = self.tiling.blocks();
        let nodes = self.injection.places.len();
        let mut all: Vec<Vec<V>> = Vec::new();
        for block in 0..blocks {
            let mut planes = Vec::new();
            self.planes(block, &mut |plane| planes.push(*plane));
            all.push(planes);
        }
        let mut bits = vec![0_u64; nodes.div_ceil(64)];
        for plane in 0..all[0].len() {
            if !archive.is_reading() {
                bits.fill(0);
                for (node, &place) in self.injection.places.iter().enumerate() {
                    let (block, lane) = (place as usize / V::BITS, place as usize % V::BITS);
                    let bit = words(&all[block][plane..=plane])[lane / 64] >> (lane % 64) & 1;
                    bits[node / 64] |= bit << (node % 64);
                }
            }
            archive.slice("plane", &mut bits)?;
            if archive.is_reading() {
                for (node, &place) in self.injection.places.iter().enumerate() {
                    let (block, lane) = (place as usize / V::BITS, place as usize % V::BITS);
                    let word = &mut words_mut(&mut all[block][plane..=plane])[lane / 64];
                    *word = *word & !(1 << (lane % 64)) | (bits[node / 64] >> (node % 64) & 1) << (lane % 64);
                }
            }
        }
        if archive.is_reading() {
            for (block, planes) in all.iter().enumerate() {
                let mut planes = planes.iter();
                self.planes(block, &mut |plane| *plane = planes.next().copied().unwrap_or(*plane));
            }
        }
        Ok(())
    }
}
