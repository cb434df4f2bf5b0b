//! Classes of packets, and how options make them.

use super::{
    numbers::Generators,
    options::{OptionError, Options, refuse},
    patterns::{Digits, Pattern},
    process::Process,
};

/// What a class of packets is like.
#[derive(Clone, Debug)]
pub(super) struct Class {
    pub pattern: Pattern,
    pub process: Process,
    /// Sizes with weights, and the sum of the weights.
    pub sizes: Vec<(u32, u32)>,
    pub weights: u32,
    /// Packets that a unit of the injection rate stands for.
    pub packets_per_rate: f64,
    pub priority: i32,
    pub is_measured: bool,
    /// With reads and writes: sizes by kind, and the share of writes.
    pub messages: Option<([u32; 4], f64)>,
    pub latency_limit: f64,
    pub warm_up: (f64, f64),
    pub stopping: (f64, f64),
}

impl Class {
    /// The size of its largest packet.
    pub(super) fn largest(&self) -> u32 {
        let sizes = self.sizes.iter().map(|&(size, _)| size);
        sizes.chain(self.messages.iter().flat_map(|(sizes, _)| *sizes)).max().unwrap_or(1)
    }

    /// The mean size of a packet that is no read or write.
    pub(super) fn mean_size(&self) -> f64 {
        let sum: f64 = self.sizes.iter().map(|&(size, weight)| f64::from(size) * f64::from(weight)).sum();
        sum / f64::from(self.weights)
    }
}

/// Whether a comma stands outside of braces.
fn has_open_comma(text: &str) -> bool {
    let mut depth = 0;
    text.chars().any(|letter| {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        letter == ',' && depth == 0
    })
}

/// What a file says of one of its classes.
struct ClassOptions<'a> {
    options: &'a Options,
    index: usize,
    classes: usize,
}

/// Sizes of packets and how often each is drawn.
type Sizes = Vec<(u32, u32)>;

/// Sizes of requests and replies of reads and writes, and the share of writes.
type Messages = Option<([u32; 4], f64)>;

const NO_FLIT: &str = "a packet has at least one flit";

impl ClassOptions<'_> {
    fn number(&self, name: &'static str) -> Result<f64, OptionError> {
        Ok(self.options.numbers_per_class(name, self.classes)?[self.index])
    }

    fn whole(&self, name: &'static str) -> Result<i64, OptionError> {
        Ok(self.options.wholes_per_class(name, self.classes)?[self.index])
    }

    fn text(&self, name: &'static str) -> String {
        self.options.per_class(name, self.classes)[self.index].clone()
    }

    fn list(&self, name: &'static str) -> Result<Vec<u32>, OptionError> {
        let text = self.text(name);
        let inside = text.trim_start_matches('{').trim_end_matches('}');
        let whole = |part: &str| {
            part.trim().parse::<u32>().map_err(|_| OptionError {
                option: name,
                text: format!("{part:?} is not a whole number of at least 0"),
            })
        };
        inside.split(',').map(whole).collect()
    }

    /// Sizes of packets, and the sum of how often each is drawn.
    fn sizes(&self) -> Result<(Sizes, u32), OptionError> {
        let lengths = self.list("packet_size")?;
        if lengths.contains(&0) {
            return refuse("packet_size", NO_FLIT);
        }
        let mut rates = self.list("packet_size_rate")?;
        rates.resize(lengths.len(), rates.last().copied().unwrap_or(1));
        let sizes: Sizes = match lengths[..] {
            // Nothing is drawn where there is one size.
            [only] => vec![(only, 1)],
            _ => lengths.into_iter().zip(rates).collect(),
        };
        let weights = sizes.iter().map(|size| size.1).sum();
        if weights == 0 {
            return refuse("packet_size_rate", "all rates are 0");
        }
        Ok((sizes, weights))
    }

    /// Reads and writes, if the class has them.
    fn messages(&self) -> Result<Messages, OptionError> {
        if self.whole("use_read_write")? == 0 {
            return Ok(None);
        }
        let size = |name: &'static str| match self.whole(name)? {
            size if (1..1 << 20).contains(&size) => Ok(size as u32),
            _ => refuse(name, NO_FLIT),
        };
        let kinds = [
            size("read_request_size")?,
            size("read_reply_size")?,
            size("write_request_size")?,
            size("write_reply_size")?,
        ];
        // The batch manager of BookSim2 tosses a fair coin.
        let is_batch = self.options.text("sim_type") == "batch";
        Ok(Some((kinds, if is_batch { 0.5 } else { self.number("write_fraction")? })))
    }

    /// What the rate counts, in packets: one, or their flits.
    fn counted(&self, (sizes, weights): (&Sizes, u32), messages: &Messages) -> Result<f64, OptionError> {
        if !self.options.is_set("injection_rate_uses_flits")? {
            return Ok(1.0);
        }
        Ok(match messages {
            // Reads and writes count alike, whatever their share, and halves are cut off.
            Some((kinds, _)) => f64::from(kinds.iter().sum::<u32>() / 2),
            None => {
                let sum: f64 = sizes.iter().map(|&(size, weight)| f64::from(size) * f64::from(weight)).sum();
                sum / f64::from(weights)
            }
        })
    }
}

/// A class of packets.
pub(super) fn class(
    options: &Options,
    index: usize,
    classes: usize,
    digits: &Digits,
    numbers: &mut Generators,
) -> Result<Class, OptionError> {
    for name in ["traffic", "injection_process"] {
        if has_open_comma(options.text(name)) {
            let text =
                "BookSim2 reads no further than the first comma outside of braces; leave out what follows";
            return refuse(name, text);
        }
    }
    let chosen = ClassOptions { options, index, classes };
    let (sizes, weights) = chosen.sizes()?;
    let messages = chosen.messages()?;
    let counted = chosen.counted((&sizes, weights), &messages)?;
    let rate = chosen.number("injection_rate")? / counted;
    if !(0.0..=1.0).contains(&rate) {
        let text =
            format!("{rate} packets per node and cycle are not within 0 to 1, and BookSim2 ends there");
        return refuse("injection_rate", text);
    }
    let priority = chosen.whole("class_priority")? as i32;
    if priority < 0 && options.text("priority") == "class" {
        return refuse("class_priority", "BookSim2 does not survive a priority below 0");
    }
    let permutation = options.whole("perm_seed")? as i32 as u32;
    let pattern = Pattern::from_text(&chosen.text("traffic"), digits, permutation, numbers)
        .map_err(|text| OptionError { option: "traffic", text })?;
    let burst = [options.number("burst_alpha")?, options.number("burst_beta")?, options.number("burst_r1")?];
    let process =
        Process::from_text(&chosen.text("injection_process"), rate, burst, digits.nodes as usize, numbers)
            .map_err(|text| OptionError { option: "injection_process", text })?;
    Ok(Class {
        pattern,
        process,
        sizes,
        weights,
        packets_per_rate: 1.0 / counted,
        priority,
        is_measured: chosen.whole("measure_stats")? != 0,
        messages,
        latency_limit: chosen.number("latency_thres")?,
        warm_up: (chosen.number("warmup_thres")?, chosen.number("acc_warmup_thres")?),
        stopping: (chosen.number("stopping_thres")?, chosen.number("acc_stopping_thres")?),
    })
}
