//! Service levels of paths, as ibdmchk reads them.

use super::lines::{Lines, number, shown};
use super::{DumpError, SERVICE_LEVELS};
use std::collections::HashMap;

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

/// Reads lines `0x<source node guid> <dlid> <sl>`, piece by piece.
///
/// ```
/// use flitloom_core::routes::by_destination::LevelReader;
/// let sources = [(0xaa, vec![1])].into();
/// let mut reader = LevelReader::new(&sources, &[7], 2);
/// reader.read(b"0xaa 7")?;
/// reader.read(b" 3\n")?;
/// let table = reader.finish()?;
/// assert_eq!((table.levels, table.untold), (vec![0, 3], 1));
/// # Ok::<(), flitloom_core::routes::by_destination::DumpError>(())
/// ```
#[derive(Clone, Debug)]
pub struct LevelReader<'a> {
    sources: &'a HashMap<u64, Vec<u32>>,
    lines: Lines,
    paths: Paths<'a>,
}

/// What was read so far.
#[derive(Clone, Debug)]
struct Paths<'a> {
    hosts: usize,
    /// Row by LID, [`u32::MAX`] for none.
    rows: Vec<u32>,
    levels: Vec<u8>,
    strangers: u64,
    /// The GUID of the line before as it stands there, with the blank after it, and its hosts.
    last: (Vec<u8>, Option<&'a [u32]>),
}

/// No level yet.
const UNTOLD: u8 = u8::MAX;

impl<'a> LevelReader<'a> {
    /// A reader for the hosts of every GUID, `hosts` in all, and the LID of every destination.
    pub fn new(sources: &'a HashMap<u64, Vec<u32>>, lids: &[u16], hosts: usize) -> Self {
        let mut rows = vec![u32::MAX; 1 << 16];
        lids.iter().enumerate().for_each(|(row, &lid)| rows[usize::from(lid)] = row as u32);
        let levels = vec![UNTOLD; lids.len() * hosts];
        let paths = Paths { hosts, rows, levels, strangers: 0, last: (Vec::new(), None) };
        Self { sources, lines: Lines::default(), paths }
    }

    /// Reads the next piece.
    ///
    /// # Errors
    /// A damaged line or a level above 15.
    pub fn read(&mut self, piece: &[u8]) -> Result<(), DumpError> {
        let Self { sources, lines, paths } = self;
        lines.read(piece, |line| paths.line(line, sources))
    }

    /// All that was read.
    ///
    /// # Errors
    /// As for [`read`](Self::read), of the last line.
    pub fn finish(mut self) -> Result<LevelTable, DumpError> {
        let Self { sources, lines, paths } = &mut self;
        lines.finish(|line| paths.line(line, sources))?;
        let Paths { mut levels, strangers, .. } = self.paths;
        let mut untold = 0;
        for level in levels.iter_mut().filter(|level| **level == UNTOLD) {
            *level = 0;
            untold += 1;
        }
        Ok(LevelTable { levels, untold, strangers })
    }
}

impl<'a> Paths<'a> {
    fn line(&mut self, line: &[u8], sources: &'a HashMap<u64, Vec<u32>>) -> Result<(), String> {
        let known = &self.last.0;
        // Lines of one source stand together.
        if !known.is_empty()
            && let Some((lid, level)) = line.strip_prefix(&known[..]).and_then(plain_end)
        {
            self.add(self.last.1, lid, level);
            return Ok(());
        }
        let line = line.trim_ascii();
        if line.is_empty() || line[0] == b'#' {
            return Ok(());
        }
        let (guid, lid, level) = path(line)?;
        let hosts = sources.get(&guid).map(Vec::as_slice);
        self.last.0.clear();
        if let Some(end) = line.iter().position(|&byte| byte == b' ') {
            self.last.0.extend_from_slice(&line[..=end]);
        }
        self.last.1 = hosts;
        self.add(hosts, lid, level);
        Ok(())
    }

    fn add(&mut self, hosts: Option<&[u32]>, lid: u16, level: u8) {
        let row = self.rows[usize::from(lid)];
        match hosts {
            None => self.strangers += 1,
            Some(_) if row == u32::MAX => {}
            Some(hosts) => {
                let row = row as usize * self.hosts;
                hosts.iter().for_each(|&host| self.levels[row + host as usize] = level);
            }
        }
    }
}

/// LID and level at the end of a line, if it is but digits, a blank and digits.
fn plain_end(text: &[u8]) -> Option<(u16, u8)> {
    let gap = text.iter().position(|&byte| byte == b' ')?;
    let digits = |word: &[u8], most: usize| -> Option<u32> {
        let whole = !word.is_empty() && word.len() <= most && word.iter().all(u8::is_ascii_digit);
        whole.then(|| word.iter().fold(0, |value, digit| 10 * value + u32::from(digit - b'0')))
    };
    let (lid, level) = (digits(&text[..gap], 5)?, digits(&text[gap + 1..], 2)?);
    (lid <= 0xffff && level < SERVICE_LEVELS as u32).then_some((lid as u16, level as u8))
}

/// GUID of the source, LID of the destination and service level of any line.
fn path(line: &[u8]) -> Result<(u64, u16, u8), String> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let mut next = |base: u64, most: u64| {
        words.next().and_then(|word| number(word, base)).filter(|&value| value <= most)
    };
    match (next(16, u64::MAX), next(10, 0xffff), next(10, u64::MAX)) {
        (Some(guid), Some(lid), Some(level)) if level < SERVICE_LEVELS as u64 => {
            Ok((guid, lid as u16, level as u8))
        }
        (Some(_), Some(_), Some(level)) => Err(format!("service level {level}; they are 0 to 15")),
        _ => Err(format!("{} is not a path; write 0x<source guid> <dlid> <sl>", shown(line))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read_levels(
        text: &[u8],
        sources: &HashMap<u64, Vec<u32>>,
        lids: &[u16],
        hosts: usize,
    ) -> Result<LevelTable, DumpError> {
        let mut reader = LevelReader::new(sources, lids, hosts);
        reader.read(text)?;
        reader.finish()
    }

    proptest! {
        #[test]
        fn lines_of_a_source_are_read_as_its_first(end in "[0-9x]{0,6}( |\t|  )[0-9]{0,3}( 7| x|\r|)") {
            if let Some(found) = plain_end(end.as_bytes()) {
                let line = format!("0x12 {end}");
                prop_assert_eq!(path(line.as_bytes()), Ok((0x12, found.0, found.1)));
            }
        }
    }

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
