//! Service levels of paths, as ibdmchk reads them.

use super::dump::Piece;
use super::{DumpError, SERVICE_LEVELS};
use rayon::prelude::*;
use std::collections::HashMap;

/// GUID of the source, LID of the destination, service level.
type Path = (u64, u16, u8);

/// Service levels by destination and host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelTable {
    /// Level by `destination * hosts + host`, 0 where the file tells none.
    pub levels: Vec<u8>,
    /// Pairs the file tells nothing about.
    pub untold: u64,
    /// Lines whose source nobody knows.
    pub strangers: u64,
}

/// Reads lines `0x<source node guid> <dlid> <sl>`; `sources` has the hosts of every GUID, `lids` the LID of
/// every destination.
///
/// # Errors
/// A damaged line or a level above 15.
///
/// ```
/// use flitloom_core::forwarding::read_levels;
/// let table = read_levels(b"0xaa 7 3\n", &[(0xaa, vec![1])].into(), &[7], 2)?;
/// assert_eq!((table.levels, table.untold), (vec![0, 3], 1));
/// # Ok::<(), flitloom_core::forwarding::DumpError>(())
/// ```
pub fn read_levels(
    text: &[u8],
    sources: &HashMap<u64, Vec<u32>>,
    lids: &[u16],
    hosts: usize,
) -> Result<LevelTable, DumpError> {
    let mut rows = vec![u32::MAX; 1 << 16];
    lids.iter().enumerate().for_each(|(row, &lid)| rows[usize::from(lid)] = row as u32);
    let parsed: Vec<Piece<Path>> = pieces(text, 1 << 20)
        .into_par_iter()
        .map(|(start, end)| parse(&text[start..end]).map_err(|(at, why)| (start + at, why)))
        .collect();
    const UNTOLD: u8 = u8::MAX;
    let mut levels = vec![UNTOLD; lids.len() * hosts];
    let mut strangers = 0;
    for piece in parsed {
        let piece = piece.map_err(|(at, text_of)| {
            let line = text[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
            DumpError { line, text: text_of }
        })?;
        for (guid, lid, level) in piece {
            let row = rows[usize::from(lid)];
            match sources.get(&guid) {
                None => strangers += 1,
                Some(_) if row == u32::MAX => {}
                Some(hosts_of) => {
                    hosts_of.iter().for_each(|&host| levels[row as usize * hosts + host as usize] = level);
                }
            }
        }
    }
    let untold = levels.iter().filter(|&&level| level == UNTOLD).count() as u64;
    levels.iter_mut().filter(|level| **level == UNTOLD).for_each(|level| *level = 0);
    Ok(LevelTable { levels, untold, strangers })
}

/// Parts of a text of about `size` bytes that end with lines.
fn pieces(text: &[u8], size: usize) -> Vec<(usize, usize)> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let wanted = (start + size).min(text.len());
        let end = text[wanted..]
            .iter()
            .position(|&byte| byte == b'\n')
            .map_or(text.len(), |more| wanted + more + 1);
        pieces.push((start, end));
        start = end;
    }
    pieces
}

fn parse(piece: &[u8]) -> Piece<Path> {
    let mut found = Vec::new();
    let mut offset = 0;
    for line in piece.split(|&byte| byte == b'\n') {
        let at = offset;
        offset += line.len() + 1;
        let line = line.trim_ascii();
        if line.is_empty() || line[0] == b'#' {
            continue;
        }
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let mut next = |base: u64, most: u64| {
            words.next().and_then(|word| number(word, base)).filter(|&value| value <= most)
        };
        let entry = (next(16, u64::MAX), next(10, 0xffff), next(10, u64::MAX));
        match entry {
            (Some(guid), Some(lid), Some(level)) if level < SERVICE_LEVELS as u64 => {
                found.push((guid, lid as u16, level as u8));
            }
            (Some(_), Some(_), Some(level)) => {
                return Err((at, format!("service level {level}; they are 0 to 15")));
            }
            _ => {
                let shown = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
                return Err((at, format!("{shown:?} is no path; write 0x<source guid> <dlid> <sl>")));
            }
        }
    }
    Ok(found)
}

/// A number in a base, or in hexadecimal after `0x`.
fn number(word: &[u8], base: u64) -> Option<u64> {
    let (digits, base) = word.strip_prefix(b"0x").map_or((word, base), |digits| (digits, 16));
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, &digit| {
        let digit = (digit as char).to_digit(base as u32)?;
        value.checked_mul(base)?.checked_add(digit.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_named_by_its_line() {
        let sources = HashMap::from([(1, vec![0])]);
        for (text, line) in
            [("0x1 1 0\n0x1 1\n", 2), ("\n# note\n0x1 1 16\n", 3), ("x 1 1\n", 1), ("0x1 70000 1\n", 1)]
        {
            assert_eq!(read_levels(text.as_bytes(), &sources, &[1], 1).unwrap_err().line, line, "{text}");
        }
        let table = read_levels(b"0x2 1 5\n0x1 0x1 0x3\n0x1 9 3", &sources, &[1], 1).unwrap();
        assert_eq!((table.levels, table.untold, table.strangers), (vec![3], 0, 1));
    }
}
