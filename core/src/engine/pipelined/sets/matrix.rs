//! Requests of up to eight inputs for up to eight outputs in one word, and matchings of them: a byte per output, a
//! bit in it per input.

/// The lowest bit of every byte.
const ONES: u64 = 0x0101_0101_0101_0101;
/// The highest bit of every byte.
const TOPS: u64 = ONES << 7;

/// Of every byte the first bit from its turn on, around the circle; the turn is a byte of bits from it on.
#[inline(always)]
fn pick(rows: u64, turns: u64) -> u64 {
    let later = rows & turns;
    let is_any = (((later & !TOPS) + !TOPS) | later) & TOPS;
    let from_turn = (is_any << 1).wrapping_sub(is_any >> 7);
    let chosen = later | rows & !from_turn;
    let negative = ((!chosen & !TOPS) + ONES) ^ (!chosen & TOPS);
    chosen & negative
}

/// Bit i of byte o becomes bit o of byte i.
#[inline(always)]
fn transposed(rows: u64) -> u64 {
    let swap = |rows: u64, by: u32, which: u64| {
        let moved = (rows ^ rows >> by) & which;
        rows ^ moved ^ moved << by
    };
    let rows = swap(rows, 7, 0x00AA_00AA_00AA_00AA);
    let rows = swap(rows, 14, 0x0000_CCCC_0000_CCCC);
    swap(rows, 28, 0x0000_0000_F0F0_F0F0)
}

/// All ones in every byte that is not zero.
#[inline(always)]
fn spread(rows: u64) -> u64 {
    let is_any = (((rows & !TOPS) + !TOPS) | rows) & TOPS;
    (is_any << 1).wrapping_sub(is_any >> 7)
}

/// Every output grants one input, every input accepts one of its grants: a byte per input, the output's bit in it.
#[inline(always)]
pub(super) fn from_outputs(asks: u64, grants: u64, accepts: u64) -> u64 {
    pick(transposed(pick(asks, grants)), accepts)
}

/// Every input chooses one output, every output takes one of them: a byte per input, the output's bit in it.
#[inline(always)]
pub(super) fn from_inputs(asks: u64, grants: u64, accepts: u64) -> u64 {
    transposed(pick(transposed(pick(transposed(asks), accepts)), grants))
}

/// What asks once the pairs of a matching are out.
pub(super) fn without(asks: u64, matched: u64) -> u64 {
    asks & !transposed(spread(matched)) & !spread(transposed(matched))
}

/// The byte of a turn.
#[inline]
pub(in super::super) fn turn(at: u32) -> u8 {
    (0xFF_u32 << at) as u8
}

#[cfg(test)]
mod tests {
    use super::{from_inputs, from_outputs, without};

    /// The matching in so many words.
    fn plainly(asks: u64, grants: &[u32; 8], accepts: &[u32; 8], inputs_first: bool) -> u64 {
        let asks_for = |input: u32, output: u32| asks >> (8 * output + input) & 1 == 1;
        let first =
            |turn: u32, has: &dyn Fn(u32) -> bool| (turn..turn + 8).map(|at| at % 8).find(|&at| has(at));
        let mut matched = 0;
        for one in 0..8 {
            let chosen = |other: u32| {
                if inputs_first {
                    first(accepts[other as usize], &|output| asks_for(other, output)) == Some(one)
                } else {
                    first(grants[other as usize], &|input| asks_for(input, other)) == Some(one)
                }
            };
            let turns = if inputs_first { grants } else { accepts };
            if let Some(other) = first(turns[one as usize], &chosen) {
                let (input, output) = if inputs_first { (other, one) } else { (one, other) };
                matched |= 1 << (8 * input + output);
            }
        }
        matched
    }

    #[test]
    fn words_match_as_turns_say() {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state ^ state >> 29
        };
        for _ in 0..2000 {
            let asks = next() & next();
            let (grants, accepts) = (next().to_le_bytes(), next().to_le_bytes());
            let turns = |bytes: [u8; 8]| bytes.map(|byte| u32::from(byte % 8));
            let words = |bytes: [u8; 8]| u64::from_le_bytes(turns(bytes).map(super::turn));
            let (grants_at, accepts_at) = (turns(grants), turns(accepts));
            let (grants, accepts) = (words(grants), words(accepts));
            let matched = from_outputs(asks, grants, accepts);
            assert_eq!(matched, plainly(asks, &grants_at, &accepts_at, false));
            assert_eq!(from_inputs(asks, grants, accepts), plainly(asks, &grants_at, &accepts_at, true));
            let left = without(asks, matched);
            for at in (0..64).filter(|at| matched >> at & 1 == 1) {
                let (input, output) = (at / 8, at % 8);
                assert_eq!(left >> (8 * output) & 0xFF, 0);
                assert_eq!(left & super::ONES << input, 0);
            }
            let pairs = matched.count_ones();
            assert!(left == 0 || pairs > 0);
        }
    }
}
