//! Texts that come in pieces, line by line.

use thiserror::Error;

/// What is wrong with a text.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line}: {text}")]
pub struct DumpError {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub text: String,
}

/// The lines of a text that comes in pieces.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines {
    /// Number of the last line.
    number: usize,
    /// What has come of the next one.
    begun: Vec<u8>,
}

impl Lines {
    /// Hands every line on that ends in a piece, without its end.
    pub(crate) fn read(
        &mut self,
        mut piece: &[u8],
        mut each: impl FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<(), DumpError> {
        while let Some(end) = memchr::memchr(b'\n', piece) {
            let (line, rest) = (&piece[..end], &piece[end + 1..]);
            piece = rest;
            if self.begun.is_empty() {
                self.number += 1;
                each(line).map_err(|text| DumpError { line: self.number, text })?;
            } else {
                self.begun.extend_from_slice(line);
                self.finish(&mut each)?;
            }
        }
        self.begun.extend_from_slice(piece);
        Ok(())
    }

    /// Hands on what stands after the last end of a line.
    pub(crate) fn finish(
        &mut self,
        mut each: impl FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<(), DumpError> {
        self.number += 1;
        let told = each(&self.begun).map_err(|text| DumpError { line: self.number, text });
        self.begun.clear();
        told
    }
}

/// The beginning of a line as messages show it.
pub(crate) fn shown(line: &[u8]) -> String {
    format!("{:?}", String::from_utf8_lossy(&line[..line.len().min(60)]))
}

/// A number in a base, or in hexadecimal after `0x`.
pub(crate) fn number(word: &[u8], base: u64) -> Option<u64> {
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
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lines_do_not_depend_on_where_pieces_end(text in "[ab\n]{0,40}", size in 1_usize..9) {
            let mut lines = Lines::default();
            let mut found = Vec::new();
            let mut each = |line: &[u8]| {
                found.push(line.to_vec());
                Ok(())
            };
            for piece in text.as_bytes().chunks(size) {
                lines.read(piece, &mut each).unwrap();
            }
            lines.finish(&mut each).unwrap();
            prop_assert_eq!(lines.number, found.len());
            prop_assert_eq!(found, text.split('\n').map(|line| line.as_bytes().to_vec()).collect::<Vec<_>>());
        }
    }
}
