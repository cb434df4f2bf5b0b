//! Forwarding tables as OpenSM dumps them, by switch and local identifier (LID).

use super::DumpError;
use super::lines::{Lines, number, shown};
use std::collections::HashMap;

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

/// Reads `opensm-lfts.dump` (`dump_lfts.sh`, `ibroute`) or `opensm.fdbs`, piece by piece.
///
/// ```
/// use flitloom_core::routes::by_destination::DumpReader;
/// let switches = [(0xaa, 0)].into();
/// let mut reader = DumpReader::new(&switches, 1, true);
/// reader.read(b"Unicast lids [0x0-0x2] of switch Lid 1 guid 0x00000000000000aa (one):\n0x00")?;
/// reader.read(b"02 007 : ()\n")?;
/// assert_eq!(reader.finish()?.ports, [255, 255, 7]);
/// # Ok::<(), flitloom_core::routes::by_destination::DumpError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DumpReader<'a> {
    switches: &'a HashMap<u64, u32>,
    strict: bool,
    lines: Lines,
    rows: Rows,
}

/// What was read so far.
#[derive(Clone, Debug)]
struct Rows {
    /// The switch whose rows come; of one that is not in the fabric, nothing.
    current: Option<Option<u32>>,
    known: Vec<bool>,
    /// Port by LID, of every switch.
    ports: Vec<Vec<u8>>,
    lids: usize,
}

impl<'a> DumpReader<'a> {
    /// A reader for the switches of a fabric, `count` of them, by their GUIDs. With `strict` a switch that is
    /// not in the fabric is an error, else it is left out.
    pub fn new(switches: &'a HashMap<u64, u32>, count: usize, strict: bool) -> Self {
        let rows = Rows { current: None, known: vec![false; count], ports: vec![Vec::new(); count], lids: 1 };
        Self { switches, strict, lines: Lines::default(), rows }
    }

    /// Reads the next piece.
    ///
    /// # Errors
    /// A damaged row, a row before the first switch, a switch that is not in the fabric or stands there twice.
    pub fn read(&mut self, piece: &[u8]) -> Result<(), DumpError> {
        let Self { switches, strict, lines, rows } = self;
        lines.read(piece, |line| rows.line(line, switches, *strict))
    }

    /// All that was read.
    ///
    /// # Errors
    /// As for [`read`](Self::read), of the last line; or there was no switch.
    pub fn finish(mut self) -> Result<LidTable, DumpError> {
        let Self { switches, strict, lines, rows } = &mut self;
        lines.finish(|line| rows.line(line, switches, *strict))?;
        if rows.current.is_none() {
            let text = "no switch found; a dump has lines 'Unicast lids [..] of switch Lid .. guid 0x..' or \
                        'dump_ucast_routes: Switch 0x..'";
            return Err(DumpError { line: 1, text: text.into() });
        }
        let Rows { known, ports: read, lids, .. } = self.rows;
        let mut ports = vec![u8::MAX; read.len() * lids];
        for (row, read) in ports.chunks_mut(lids).zip(&read) {
            row[..read.len()].copy_from_slice(read);
        }
        let absent = (0..known.len() as u32).filter(|&switch| !known[switch as usize]).collect();
        Ok(LidTable { lids, ports, absent })
    }
}

impl Rows {
    fn line(&mut self, line: &[u8], switches: &HashMap<u64, u32>, strict: bool) -> Result<(), String> {
        if line.starts_with(b"Unicast lids") || line.starts_with(b"dump_ucast_routes: Switch") {
            return self.head(line, switches, strict);
        }
        let row = line.trim_ascii_start();
        if !row.starts_with(b"0x") {
            return Ok(());
        }
        let current = self.current.ok_or("a row before the first switch")?;
        let entry = match plain_entry(row) {
            Some(entry) => Some(entry),
            None => entry(row)?,
        };
        let Some((lid, port)) = entry else { return Ok(()) };
        let lid = usize::from(lid);
        self.lids = self.lids.max(lid + 1);
        if let Some(switch) = current {
            let ports = &mut self.ports[switch as usize];
            if ports.len() <= lid {
                ports.resize(lid + 1, u8::MAX);
            }
            ports[lid] = port;
        }
        Ok(())
    }

    fn head(&mut self, line: &[u8], switches: &HashMap<u64, u32>, strict: bool) -> Result<(), String> {
        let text = String::from_utf8_lossy(line);
        let guid = header_guid(&text).ok_or_else(|| format!("no GUID of a switch in {text:?}"))?;
        let switch = switches.get(&guid).copied();
        if let Some(switch) = switch {
            if std::mem::replace(&mut self.known[switch as usize], true) {
                return Err(format!("switch 0x{guid:016x} stands here a second time"));
            }
        } else if strict {
            return Err(format!("switch 0x{guid:016x} is not in the fabric"));
        }
        self.current = Some(switch);
        Ok(())
    }
}

fn header_guid(text: &str) -> Option<u64> {
    let after = text.split_once("guid 0x").or_else(|| text.split_once("Switch 0x"))?.1;
    let digits = after.split(|letter: char| !letter.is_ascii_hexdigit()).next()?;
    u64::from_str_radix(digits, 16).ok()
}

/// LID and port of a row as OpenSM writes nearly all of them: four digits, a blank or ` : `, three digits.
fn plain_entry(row: &[u8]) -> Option<(u16, u8)> {
    let [b'0', b'x', a, b, c, d, b' ', rest @ ..] = row else { return None };
    let rest = rest.strip_prefix(b": ").unwrap_or(rest);
    let [e, f, g, rest @ ..] = rest else { return None };
    let lid =
        [a, b, c, d].into_iter().fold(0, |lid, &digit| lid << 4 | u32::from(DIGITS[usize::from(digit)]));
    let port = [e, f, g].into_iter().fold(0, |port, &digit| 10 * port + u32::from(digit.wrapping_sub(b'0')));
    let digits = [a, b, c, d].into_iter().all(|&digit| DIGITS[usize::from(digit)] < 16)
        && [e, f, g].into_iter().all(u8::is_ascii_digit);
    let whole = digits && ends(rest) && lid <= HIGHEST && port <= 255;
    whole.then_some((lid as u16, port as u8))
}

/// LID and port of any row, nothing if the LID is not reached.
fn entry(row: &[u8]) -> Result<Option<(u16, u8)>, String> {
    let damaged = || format!("{} is not a row of a forwarding table; a row is '0x0002 003 ...'", shown(row));
    let rest = &row[2..];
    let digits = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let lid = short(&rest[..digits], 16).filter(|&lid| lid <= HIGHEST).ok_or_else(damaged)?;
    let rest = &rest[digits..];
    let gap = rest.iter().take_while(|byte| b" \t:".contains(byte)).count();
    if gap == 0 {
        return Err(damaged());
    }
    let rest = &rest[gap..];
    if rest.starts_with(b"UNREACHABLE") || rest.starts_with(b"???") {
        return Ok(None);
    }
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let port = short(&rest[..digits], 10).filter(|&port| ends(&rest[digits..]) && port <= 255);
    port.map(|port| Some((lid as u16, port as u8))).ok_or_else(damaged)
}

/// The last LID that is not one of multicast groups.
const HIGHEST: u32 = 0xbfff;

/// Values of hexadecimal digits, 255 for other characters.
const DIGITS: [u8; 256] = {
    let mut values = [u8::MAX; 256];
    let mut value = 0;
    while value < 16 {
        values[b"0123456789abcdef"[value] as usize] = value as u8;
        values[b"0123456789ABCDEF"[value] as usize] = value as u8;
        value += 1;
    }
    values
};

/// A number of at most eight digits.
fn short(digits: &[u8], base: u64) -> Option<u32> {
    number(digits, base).filter(|_| digits.len() <= 8).map(|value| value as u32)
}

fn ends(rest: &[u8]) -> bool {
    rest.first().is_none_or(|byte| byte.is_ascii_whitespace() || *byte == b':')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_dump(
        text: &[u8],
        switches: &HashMap<u64, u32>,
        count: usize,
        strict: bool,
    ) -> Result<LidTable, DumpError> {
        let mut reader = DumpReader::new(switches, count, strict);
        reader.read(text)?;
        reader.finish()
    }

    proptest! {
        #[test]
        fn rows_of_the_usual_form_are_read_as_all_others(
            row in "0x[0-9a-cB-D]{4}( |: | : |)[0-9x]{2,4}( : \\(Switch\\)|:|y|)",
        ) {
            if let Some(found) = plain_entry(row.as_bytes()) {
                prop_assert_eq!(entry(row.as_bytes()), Ok(Some(found)));
            }
        }
    }

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
