//! Saved states that somebody has changed: whole fields as they are written, with other values or entries.

/// A field of a saved state: its name, entries and their bytes.
#[derive(Clone, Debug)]
struct Field {
    name: Vec<u8>,
    entries: usize,
    bytes: Vec<u8>,
}

/// A saved state as its fields; `None` for what is none.
fn fields(state: &[u8], at: usize, known: &mut Vec<bool>) -> Option<Vec<Field>> {
    if at == state.len() {
        return Some(Vec::new());
    }
    if known[at] {
        return None;
    }
    known[at] = true;
    let length = usize::from(state[at]);
    let name = state.get(at + 1..at + 1 + length)?;
    let is_name = |byte: &u8| byte.is_ascii_lowercase() || b" '".contains(byte);
    if length < 4 || !name.iter().all(is_name) {
        return None;
    }
    let begin = at + 1 + length + 8;
    let count = u64::from_le_bytes(state.get(begin - 8..begin)?.try_into().ok()?);
    let entries = usize::try_from(count).ok().filter(|&entries| entries <= state.len())?;
    // How many bytes an entry takes is not written: as many as lead to another field.
    (1..=if entries == 0 { 1 } else { 128 }).find_map(|bytes| {
        let end = begin + entries * bytes;
        let rest = (end <= state.len()).then(|| fields(state, end, known)).flatten()?;
        let field = Field { name: name.to_vec(), entries, bytes: state[begin..end].to_vec() };
        Some([vec![field], rest].concat())
    })
}

/// A saved state with some fields changed, as numbers say.
pub fn forged(state: &[u8], numbers: &[u64]) -> Vec<u8> {
    let mut all = fields(state, 0, &mut vec![false; state.len()]).unwrap_or_default();
    assert!(!all.is_empty(), "a saved state is made of fields");
    for pair in numbers.chunks_exact(2) {
        let place = (pair[0] % all.len() as u64) as usize;
        let other = all[(place + 1) % all.len()].bytes.clone();
        let field = &mut all[place];
        if field.entries == 0 {
            continue;
        }
        let size = field.bytes.len() / field.entries;
        let first = (pair[1].rotate_left(9) % field.entries as u64) as usize * size;
        match pair[1] % 8 {
            // The list is shorter or longer, or there is none.
            0 => {
                field.bytes.truncate(field.bytes.len() - size);
                field.entries -= 1;
            }
            1 => {
                field.bytes.extend_from_within(first..first + size);
                field.entries += 1;
            }
            2 => (field.bytes, field.entries) = (Vec::new(), 0),
            // What another field says.
            3 => field.bytes.iter_mut().zip(other.iter().cycle()).for_each(|(byte, &new)| *byte = new),
            4 => field.bytes[first..first + size].fill(0),
            5 => field.bytes[first..first + size].fill(255),
            6 => field.bytes[first] = field.bytes[first].wrapping_add((pair[1] >> 32) as u8 % 3),
            _ => field.bytes.rotate_left(size),
        }
    }
    let written = |field: Field| {
        let mut bytes = vec![field.name.len() as u8];
        bytes.extend(field.name);
        bytes.extend((field.entries as u64).to_le_bytes());
        bytes.extend(field.bytes);
        bytes
    };
    all.into_iter().flat_map(written).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_put_together_again() {
        let mut archive = flitloom_core::save::Archive::writing();
        archive.slice("flits", &mut [1_u16, 2, 3]).unwrap();
        archive.list("nothing", &mut Vec::<u32>::new()).unwrap();
        archive.number("cycle", &mut 7_u64).unwrap();
        let state = archive.into_bytes();
        assert_eq!(forged(&state, &[]), state);
        assert_ne!(forged(&state, &[0, 2]), state);
    }
}
