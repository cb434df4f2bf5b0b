//! Forwarding tables as OpenSM dumps them, by switch and local identifier (LID).

use rayon::prelude::*;
use std::collections::HashMap;
use thiserror::Error;

/// What is wrong with a dump.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line}: {text}")]
pub struct DumpError {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub text: String,
}

/// Entries of a part of a text, or where in it and what is wrong.
pub(super) type Piece<T> = Result<Vec<T>, (usize, String)>;

/// Out ports by switch and LID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LidTable {
    /// One more than the highest LID.
    pub lids: usize,
    /// Port by `switch * lids + lid`, 255 for none.
    pub ports: Vec<u8>,
    /// Switches the dump tells nothing about.
    pub absent: Vec<u32>,
}

/// Reads `opensm-lfts.dump` (`dump_lfts.sh`, `ibroute`) or `opensm.fdbs`; `switches` maps the GUIDs of the
/// fabric to its switches. With `strict` a switch that is not in the fabric is an error, else it is left out.
///
/// # Errors
/// A damaged row, a row before the first switch, a switch that is not in the fabric or stands there twice.
///
/// ```
/// use flitloom_core::forwarding::read_dump;
/// let text = b"Unicast lids [0x0-0x2] of switch Lid 1 guid 0x00000000000000aa (one):\n0x0002 007 : ()\n";
/// let table = read_dump(text, &[(0xaa, 0)].into(), 1, true)?;
/// assert_eq!(table.ports, [255, 255, 7]);
/// # Ok::<(), flitloom_core::forwarding::DumpError>(())
/// ```
pub fn read_dump(
    text: &[u8],
    switches: &HashMap<u64, u32>,
    count: usize,
    strict: bool,
) -> Result<LidTable, DumpError> {
    let starts = headers(text);
    let line_of = |offset: usize| text[..offset].iter().filter(|&&byte| byte == b'\n').count() + 1;
    let fail = |offset: usize, text: String| DumpError { line: line_of(offset), text };
    let end = |place: usize| starts.get(place + 1).copied().unwrap_or(text.len());
    let before = &text[..starts.first().copied().unwrap_or(text.len())];
    if let Some(row) = lines(before).find(|&(_, line)| line.trim_ascii_start().starts_with(b"0x")) {
        return Err(fail(row.0, "a row before the first switch".into()));
    }
    if starts.is_empty() {
        let text = "no switch found; a dump has lines 'Unicast lids [..] of switch Lid .. guid 0x..' or \
                    'dump_ucast_routes: Switch 0x..'";
        return Err(DumpError { line: 1, text: text.into() });
    }
    let mut owner = vec![None; count];
    let mut wanted = Vec::with_capacity(starts.len());
    for &start in &starts {
        let line = lines(&text[start..]).next().map_or(&[][..], |(_, line)| line);
        let guid = header_guid(line).ok_or_else(|| {
            fail(start, format!("no GUID of a switch in {:?}", String::from_utf8_lossy(line)))
        })?;
        let Some(&switch) = switches.get(&guid) else {
            if strict {
                return Err(fail(start, format!("switch 0x{guid:016x} is not in the fabric")));
            }
            wanted.push(None);
            continue;
        };
        if owner[switch as usize].replace(start).is_some() {
            return Err(fail(start, format!("switch 0x{guid:016x} stands here a second time")));
        }
        wanted.push(Some(switch));
    }
    let blocks: Vec<Piece<(u16, u8)>> = (0..starts.len())
        .into_par_iter()
        .map(|place| rows(&text[starts[place]..end(place)]).map_err(|(at, text)| (starts[place] + at, text)))
        .collect();
    let mut found = Vec::with_capacity(blocks.len());
    for block in blocks {
        found.push(block.map_err(|(offset, text)| fail(offset, text))?);
    }
    let highest = found.iter().flatten().map(|&(lid, _)| lid).max().unwrap_or(0);
    let lids = usize::from(highest) + 1;
    let mut ports = vec![u8::MAX; count * lids];
    for (&switch, rows) in wanted.iter().zip(&found) {
        let Some(switch) = switch else { continue };
        for &(lid, port) in rows {
            ports[switch as usize * lids + usize::from(lid)] = port;
        }
    }
    let absent = (0..count as u32).filter(|&switch| owner[switch as usize].is_none()).collect();
    Ok(LidTable { lids, ports, absent })
}

/// Offsets of the lines that name a switch.
fn headers(text: &[u8]) -> Vec<usize> {
    lines(text)
        .filter(|(_, line)| {
            line.starts_with(b"Unicast lids") || line.starts_with(b"dump_ucast_routes: Switch")
        })
        .map(|(offset, _)| offset)
        .collect()
}

fn lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut offset = 0;
    text.split(|&byte| byte == b'\n').map(move |line| {
        let start = offset;
        offset += line.len() + 1;
        (start, line)
    })
}

fn header_guid(line: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(line);
    let after = text.split_once("guid 0x").or_else(|| text.split_once("Switch 0x"))?.1;
    let digits = after.split(|letter: char| !letter.is_ascii_hexdigit()).next()?;
    u64::from_str_radix(digits, 16).ok()
}

fn rows(block: &[u8]) -> Piece<(u16, u8)> {
    let mut found = Vec::new();
    for (offset, line) in lines(block).skip(1) {
        let line = line.trim_ascii_start();
        let Some(rest) = line.strip_prefix(b"0x") else { continue };
        let damaged = || {
            let shown = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
            (offset, format!("{shown:?} is no row of a forwarding table; a row is '0x0002 003 ...'"))
        };
        let digits = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let lid = number(&rest[..digits], 16).filter(|&lid| lid <= 0xbfff).ok_or_else(damaged)?;
        let rest = &rest[digits..];
        let gap = rest.iter().take_while(|byte| b" \t:".contains(byte)).count();
        if gap == 0 {
            return Err(damaged());
        }
        let rest = &rest[gap..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let ends = rest.get(digits).is_none_or(|byte| byte.is_ascii_whitespace() || *byte == b':');
        if rest.starts_with(b"UNREACHABLE") || rest.starts_with(b"???") {
            continue;
        }
        let port = number(&rest[..digits], 10).filter(|&port| ends && port <= 255).ok_or_else(damaged)?;
        found.push((lid as u16, port as u8));
    }
    Ok(found)
}

fn number(digits: &[u8], base: u32) -> Option<u32> {
    if digits.is_empty() || digits.len() > 8 {
        return None;
    }
    digits
        .iter()
        .try_fold(0_u32, |value, &digit| Some(value.checked_mul(base)? + (digit as char).to_digit(base)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_dialects_are_read() {
        let switches = HashMap::from([(0x10, 0), (0x20, 1)]);
        let text = "dump_ucast_routes: Switch 0x0000000000000020\nLID    : Port : Hops : Optimal\n\
                    0x0001 : 020  : 01   : yes\n0x0002 : UNREACHABLE\n";
        let table = read_dump(text.as_bytes(), &switches, 2, true).unwrap();
        assert_eq!(table.ports, [255, 255, 255, 20]);
        assert_eq!(table.absent, [0]);
        let text = "Unicast lids [0-3] of switch Lid 2 guid 0x10 ('S0'):\n  Lid  Out\n\
                    0x0003 036 # Switch portguid 0x1: 'S0'\n1 lids dumped\n";
        assert_eq!(read_dump(text.as_bytes(), &switches, 2, true).unwrap().ports[3], 36);
    }

    #[test]
    fn damage_is_named_by_its_line() {
        let switches = HashMap::from([(0x10, 0)]);
        let head = "Unicast lids [0-3] of switch Lid 2 guid 0x10 ('S0'):\n";
        for (text, line) in [
            (format!("{head}0x0001 003 : ()\n0x0002 xyz\n"), 3),
            (format!("0x0001 003\n{head}"), 1),
            (format!("{head}{head}"), 2),
            ("Unicast lids [0-3] of switch Lid 2 guid 0x11 ('S0'):\n".into(), 1),
            (format!("{head}0x0001 999\n"), 2),
            (String::new(), 1),
        ] {
            assert_eq!(read_dump(text.as_bytes(), &switches, 1, true).unwrap_err().line, line, "{text}");
        }
        let stranger =
            format!("{head}0x0001 003\nUnicast lids [0-3] of switch Lid 9 guid 0x11 ('S1'):\n0x0001 004\n");
        assert_eq!(read_dump(stranger.as_bytes(), &switches, 1, false).unwrap().ports, [255, 3]);
    }
}
