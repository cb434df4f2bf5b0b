use std::fmt;

/// The channel evaluated first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The channel used last.
    Last,
    /// The one after it, and after the highest one the lowest.
    After,
    /// The one before it, and before the lowest one the highest.
    Before,
    /// The channel used last while a packet is under way in it, else the one after it.
    ByPacket,
    /// This one, always, counted on from channel 0 where there are fewer.
    At(u8),
}

impl Start {
    /// The channel, given the one used last and whether a packet is under way in it: its header has been sent, its
    /// tail has not.
    pub const fn channel(self, last: u8, under_way: bool, channels: u8) -> u8 {
        match self {
            Self::ByPacket if under_way => last,
            Self::Last => last,
            Self::After | Self::ByPacket => (last + 1) % channels,
            Self::Before => (last + channels - 1) % channels,
            Self::At(channel) => channel % channels,
        }
    }

    /// Whether it depends on the channel used last.
    pub const fn remembers(self) -> bool {
        !matches!(self, Self::At(_))
    }
}

/// The direction in which channels are evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// To higher channels.
    Ascending,
    /// To lower ones.
    Descending,
}

macro_rules! schemes {
    ($($(#[doc = $doc:literal])+ $(#[cfg($condition:meta)])? $scheme:ident = $name:literal, $start:expr, $turn:ident;)+) => {
        /// How an output port chooses among its virtual channels: as in cup-stacking-extended-2023, Table 1, or
        /// packet by packet.
        ///
        /// ```
        /// use flitloom_core::router::ChannelScheme;
        /// let scheme: ChannelScheme = "C03".parse()?;
        /// assert_eq!(scheme.order(1, false, 3).collect::<Vec<_>>(), [0, 2, 1]);
        /// let scheme = ChannelScheme::Packet;
        /// assert_eq!(scheme.order(1, false, 3).collect::<Vec<_>>(), [2, 0, 1]);
        /// assert_eq!(scheme.order(1, true, 3).collect::<Vec<_>>(), [1, 2, 0]);
        /// # Ok::<(), flitloom_core::router::ArbitrationError>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum ChannelScheme {
            $($(#[doc = $doc])+ $(#[cfg($condition)])? $scheme,)+
        }

        impl ChannelScheme {
            /// How many there are.
            pub const COUNT: usize = [$($(#[cfg($condition)])? $name,)+].len();

            /// All schemes.
            pub const ALL: [Self; Self::COUNT] = [$($(#[cfg($condition)])? Self::$scheme,)+];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self {
                    $($(#[cfg($condition)])? Self::$scheme => $name,)+
                }
            }

            /// Where the evaluation begins.
            pub const fn start(self) -> Start {
                match self {
                    $($(#[cfg($condition)])? Self::$scheme => $start,)+
                }
            }

            /// In which direction it goes on.
            pub const fn turn(self) -> Turn {
                match self {
                    $($(#[cfg($condition)])? Self::$scheme => Turn::$turn,)+
                }
            }
        }
    };
}

// The engines know a scheme by these facts alone. The first one is the default.
schemes! {
    /// Round robin from the channel used last, ascending.
    C00 = "C00", Start::Last, Ascending;
    /// Round robin from the channel after the one used last, ascending.
    C01 = "C01", Start::After, Ascending;
    /// Round robin from the channel used last, descending.
    C02 = "C02", Start::Last, Descending;
    /// Round robin from the channel before the one used last, descending.
    C03 = "C03", Start::Before, Descending;
    /// Fixed priority from channel 0, ascending.
    C04 = "C04", Start::At(0), Ascending;
    /// Fixed priority from channel 1, ascending.
    C05 = "C05", Start::At(1), Ascending;
    /// Fixed priority from channel 2, ascending.
    C06 = "C06", Start::At(2), Ascending;
    /// Fixed priority from channel 0, descending.
    C07 = "C07", Start::At(0), Descending;
    /// Fixed priority from channel 1, descending.
    C08 = "C08", Start::At(1), Descending;
    /// Fixed priority from channel 2, descending.
    C09 = "C09", Start::At(2), Descending;
    /// `packet`: round robin packet by packet: from the channel used last while the packet in it is
    /// under way, else from the channel after it, ascending. Only a gap in a packet lets another one in.
    Packet = "packet", Start::ByPacket, Ascending;
    /// Round robin from the channel after the one used last, descending. It exists in tests only.
    #[cfg(test)]
    AfterDown = "after-down", Start::After, Descending;
}

impl ChannelScheme {
    /// Those of cup-stacking-extended-2023, Table 1, in the order of their numbers.
    pub const PUBLISHED: [Self; 10] = [
        Self::C00,
        Self::C01,
        Self::C02,
        Self::C03,
        Self::C04,
        Self::C05,
        Self::C06,
        Self::C07,
        Self::C08,
        Self::C09,
    ];

    /// Whether the order depends on the channel used last.
    pub const fn remembers(self) -> bool {
        self.start().remembers()
    }

    /// Whether channels are evaluated in ascending order.
    pub const fn ascending(self) -> bool {
        matches!(self.turn(), Turn::Ascending)
    }

    /// The channels in evaluation order, given the one used last and whether a packet is under way in it.
    pub fn order(self, last: u8, under_way: bool, channels: u8) -> impl Iterator<Item = u8> {
        let start = self.start().channel(last, under_way, channels);
        let ascending = self.ascending();
        (0..channels).map(move |step| {
            let step = if ascending { step } else { channels - step };
            (start + step) % channels
        })
    }
}

impl Default for ChannelScheme {
    fn default() -> Self {
        Self::ALL[0]
    }
}

impl fmt::Display for ChannelScheme {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_evaluates_every_channel_once() {
        for scheme in ChannelScheme::ALL {
            assert_eq!(scheme.to_string().parse(), Ok(scheme));
            for channels in 1..=8 {
                for (last, under_way) in (0..channels).flat_map(|last| [(last, false), (last, true)]) {
                    let mut order: Vec<u8> = scheme.order(last, under_way, channels).collect();
                    order.sort_unstable();
                    assert_eq!(order, (0..channels).collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn the_orders_are_those_of_the_papers_table() {
        let order = |text: &str| text.parse::<ChannelScheme>().unwrap().order(1, true, 3).collect::<Vec<_>>();
        assert_eq!(order("C00"), [1, 2, 0]);
        assert_eq!(order("C01"), [2, 0, 1]);
        assert_eq!(order("C02"), [1, 0, 2]);
        assert_eq!(order("C03"), [0, 2, 1]);
        assert_eq!(order("C04"), [0, 1, 2]);
        assert_eq!(order("C06"), [2, 0, 1]);
        assert_eq!(order("C07"), [0, 2, 1]);
        assert_eq!(order("C09"), [2, 1, 0]);
    }
}
