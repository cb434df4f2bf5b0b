//! Pairs of octants that were found once and for all, as text: a line per side and class of sources, with its
//! packets in the order of their starts. `17:0121` is packet 17 of the pool, which makes its hops along
//! dimensions 0, 1, 2 and 1; `-3` are three turns of the slots that pass without a start.

use super::{beam::Sent, deal::LINES};

/// The pair of mixed octants, which serves three times: `OctantPair::Mixed` in 1,044 cycles with seed 18.
pub(super) const MIXED: &str = include_str!("mixed.txt");
/// The pair of octants with equal signs: `OctantPair::Equal` in 1,048 cycles with seed 17.
pub(super) const EQUAL: &str = include_str!("equal.txt");

/// The text of a pair, forward side first.
pub(super) fn written(sent: &[Vec<Sent>; 2]) -> String {
    let mut text = String::new();
    for (side, sent) in sent.iter().enumerate() {
        for class in 0..LINES {
            let mut own: Vec<&Sent> = sent.iter().filter(|sent| sent.class == class).collect();
            own.sort_by_key(|sent| sent.start);
            let mut next = 0;
            text += &format!("{side} {class}");
            for sent in own {
                let turn = sent.start / LINES;
                if turn > next {
                    text += &format!(" -{}", turn - next);
                }
                next = turn + 1;
                text += &format!(" {}:", sent.number);
                sent.way.iter().for_each(|along| text.push(char::from(b'0' + along)));
            }
            text.push('\n');
        }
    }
    text
}

/// The packets of a text; `None` if it is none.
pub(super) fn read(text: &str) -> Option<[Vec<Sent>; 2]> {
    let mut sent = [Vec::new(), Vec::new()];
    for line in text.lines() {
        let mut words = line.split(' ');
        let side: usize = words.next()?.parse().ok()?;
        let class: u32 = words.next()?.parse().ok()?;
        let mut turn = 0;
        for word in words {
            if let Some(turns) = word.strip_prefix('-') {
                turn += turns.parse::<u32>().ok()?;
                continue;
            }
            let (number, way) = word.split_once(':')?;
            let along = |digit: char| digit.to_digit(3).map(|digit| digit as u8);
            let way = way.chars().map(along).collect::<Option<Vec<u8>>>()?;
            let packet = Sent { class, number: number.parse().ok()?, start: LINES * turn + class, way };
            sent.get_mut(side)?.push(packet);
            turn += 1;
        }
    }
    Some(sent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written_again() {
        for text in [MIXED, EQUAL] {
            let sent = read(text).unwrap();
            assert_eq!(written(&sent), text);
            assert!(sent.iter().flatten().count() > 8 * 120);
        }
        for wrong in ["2 0 1:0", "0 0 1:3", "0 0 1", "0 x 1:0", "0 0 -y"] {
            assert!(read(wrong).is_none(), "{wrong}");
        }
    }
}
