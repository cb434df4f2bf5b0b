//! Classes of packets, and how options make them.

use super::{
    numbers::Numbers,
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

/// A class of packets.
pub(super) fn class(
    options: &Options,
    index: usize,
    classes: usize,
    digits: &Digits,
    numbers: &mut Numbers,
) -> Result<Class, OptionError> {
    for name in ["traffic", "injection_process"] {
        if has_open_comma(options.text(name)) {
            let text =
                "BookSim2 reads no further than the first comma outside of braces; leave out what follows";
            return refuse(name, text);
        }
    }
    let number = |name: &'static str| Ok(options.numbers_per_class(name, classes)?[index]);
    let whole_number = |name: &'static str| Ok(options.wholes_per_class(name, classes)?[index]);
    let text = |name: &'static str| options.per_class(name, classes)[index].clone();
    let whole = |name: &'static str, part: &str| {
        part.trim().parse::<u32>().map_err(|_| OptionError {
            option: name,
            text: format!("{part:?} is not a whole number of at least 0"),
        })
    };
    let list = |name: &'static str| -> Result<Vec<u32>, OptionError> {
        let text = text(name);
        let inside = text.trim_start_matches('{').trim_end_matches('}');
        inside.split(',').map(|part| whole(name, part)).collect()
    };
    let no_flit = "a packet has at least one flit";
    let lengths = list("packet_size")?;
    if lengths.contains(&0) {
        return refuse("packet_size", no_flit);
    }
    let mut rates = list("packet_size_rate")?;
    rates.resize(lengths.len(), rates.last().copied().unwrap_or(1));
    let sizes: Vec<_> = match lengths[..] {
        // Nothing is drawn where there is one size.
        [only] => vec![(only, 1)],
        _ => lengths.into_iter().zip(rates).collect(),
    };
    let weights: u32 = sizes.iter().map(|size| size.1).sum();
    if weights == 0 {
        return refuse("packet_size_rate", "all rates are 0");
    }
    let messages = if whole_number("use_read_write")? != 0 {
        let size = |name: &'static str| match whole_number(name)? {
            size if (1..1 << 20).contains(&size) => Ok(size as u32),
            _ => refuse(name, no_flit),
        };
        let kinds = [
            size("read_request_size")?,
            size("read_reply_size")?,
            size("write_request_size")?,
            size("write_reply_size")?,
        ];
        // The batch manager of BookSim2 tosses a fair coin.
        let is_batch = options.text("sim_type") == "batch";
        Some((kinds, if is_batch { 0.5 } else { number("write_fraction")? }))
    } else {
        None
    };
    let mut counted = 1.0;
    if options.is_set("injection_rate_uses_flits")? {
        counted = match &messages {
            // Reads and writes count alike, whatever their share, and halves are cut off.
            Some((kinds, _)) => f64::from(kinds.iter().sum::<u32>() / 2),
            None => {
                let sum: f64 = sizes.iter().map(|&(size, weight)| f64::from(size) * f64::from(weight)).sum();
                sum / f64::from(weights)
            }
        };
    }
    let rate = number("injection_rate")? / counted;
    if !(0.0..=1.0).contains(&rate) {
        let text =
            format!("{rate} packets per node and cycle are not within 0 to 1, and BookSim2 ends there");
        return refuse("injection_rate", text);
    }
    let priority = whole_number("class_priority")? as i32;
    if priority < 0 && options.text("priority") == "class" {
        return refuse("class_priority", "BookSim2 does not survive a priority below 0");
    }
    let permutation = options.whole("perm_seed")? as i32 as u32;
    let pattern = Pattern::from_text(&text("traffic"), digits, permutation, numbers)
        .map_err(|text| OptionError { option: "traffic", text })?;
    let burst = [options.number("burst_alpha")?, options.number("burst_beta")?, options.number("burst_r1")?];
    let process = Process::from_text(&text("injection_process"), rate, burst, digits.nodes as usize, numbers)
        .map_err(|text| OptionError { option: "injection_process", text })?;
    Ok(Class {
        pattern,
        process,
        sizes,
        weights,
        packets_per_rate: 1.0 / counted,
        priority,
        is_measured: whole_number("measure_stats")? != 0,
        messages,
        latency_limit: number("latency_thres")?,
        warm_up: (number("warmup_thres")?, number("acc_warmup_thres")?),
        stopping: (number("stopping_thres")?, number("acc_stopping_thres")?),
    })
}
