//! A network on several processes: Python's side says how they meet.

use flitloom_core::engine::{Lost, Messages, Rank, Transport};
use pyo3::{prelude::*, types::PyBytes};

/// An object with `exchange(before, behind)`, `greatest(values)`, `sum(values)` and `collect(state)`.
pub struct Ranks(pub Py<PyAny>);

impl Ranks {
    /// This process as the object describes it by its `rank` and `size`.
    pub fn rank(object: Bound<'_, PyAny>) -> PyResult<Rank> {
        let (rank, ranks) = (object.getattr("rank")?.extract()?, object.getattr("size")?.extract()?);
        Ok(Rank { rank, ranks, transport: Box::new(Self(object.unbind())) })
    }

    /// Calls it; whatever fails is shown, since the run ends.
    fn ask<T>(&self, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Result<T, Lost> {
        Python::attach(|py| {
            call(self.0.bind(py)).map_err(|error| {
                error.display(py);
                Lost
            })
        })
    }
}

impl Transport for Ranks {
    fn exchange(&mut self, messages: &mut Messages) -> Result<(), Lost> {
        let come = self.ask(|ranks| {
            let [before, behind] = messages.out.each_ref().map(|words| {
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                PyBytes::new(ranks.py(), &bytes)
            });
            ranks.call_method1("exchange", (before, behind))?.extract::<[Vec<u8>; 2]>()
        })?;
        for (words, bytes) in messages.come.iter_mut().zip(come) {
            words.clear();
            words.extend(bytes.chunks_exact(8).map(|word| {
                let mut own = [0; 8];
                own.copy_from_slice(word);
                u64::from_le_bytes(own)
            }));
        }
        Ok(())
    }

    fn greatest(&mut self, values: [u64; 4]) -> Result<[u64; 4], Lost> {
        self.ask(|ranks| ranks.call_method1("greatest", (values.to_vec(),))?.extract())
    }

    fn sum(&mut self, values: [u64; 3]) -> Result<[u64; 3], Lost> {
        self.ask(|ranks| ranks.call_method1("sum", (values.to_vec(),))?.extract())
    }

    fn collect(&mut self, state: Vec<u8>) -> Result<Vec<Vec<u8>>, Lost> {
        self.ask(|ranks| ranks.call_method1("collect", (PyBytes::new(ranks.py(), &state),))?.extract())
    }
}
