//! A network on several processes: Python's side says how they meet.

use flitloom_core::engine::{Lost, Message, Rank, Transport};
use pyo3::{prelude::*, types::PyBytes};

/// An object with `exchange([(rank, tag, bytes), ...])`, which returns what comes in the same order, `greatest(values)`, `sum(values)` and `collect(state)`.
pub struct Ranks(pub Py<PyAny>);

impl Ranks {
    /// This process as the object describes it by its `rank` and `size`.
    pub fn rank(object: Bound<'_, PyAny>) -> PyResult<Rank> {
        let (rank, ranks) = (object.getattr("rank")?.extract()?, object.getattr("size")?.extract()?);
        Ok(Rank::new(rank, ranks, Box::new(Self(object.unbind()))))
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
    fn exchange(&mut self, messages: &mut [Message]) -> Result<(), Lost> {
        let come: Vec<Vec<u8>> = self.ask(|ranks| {
            let going = messages.iter().map(|Message { part, there, out, .. }| {
                let bytes: Vec<u8> = out.iter().flat_map(|word| word.to_le_bytes()).collect();
                (*part, *there, PyBytes::new(ranks.py(), &bytes))
            });
            ranks.call_method1("exchange", (going.collect::<Vec<_>>(),))?.extract()
        })?;
        for (Message { come: words, .. }, bytes) in messages.iter_mut().zip(come) {
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
