use super::{ChannelRule, dimension_order};
use crate::fabric::{Direction, Fabric, LinkId, NodeId};

/// One hop of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Where it starts.
    pub node: NodeId,
    /// Which way it goes.
    pub direction: Direction,
    /// The link it crosses.
    pub link: LinkId,
    /// The virtual channel on that link.
    pub channel: u8,
    /// Direction of the hop before; `None` for the first.
    pub along: Option<Direction>,
}

/// The hops of a packet that is in `channel` at its source and leaves in the given directions; ends
/// where they lead out of the shape.
///
/// ```
/// use flitloom_core::fabric::{Direction, Fabric, Shape, Sign};
/// use flitloom_core::routing::{ChannelRule, Datelines, walk};
/// let fabric = Fabric::new(Shape::torus(&[4, 4])?);
/// let rule = ChannelRule::new(3, Datelines::BOTH);
/// let (x, y) = (Direction::new(0, Sign::Plus), Direction::new(1, Sign::Plus));
/// let channels: Vec<u8> = walk(&fabric, rule, 0, 0, [x, x, y]).map(|hop| hop.channel).collect();
/// assert_eq!(channels, [0, 1, 1]);
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn walk<'a, I>(
    fabric: &'a Fabric,
    rule: ChannelRule,
    source: NodeId,
    channel: u8,
    directions: I,
) -> impl Iterator<Item = Hop> + use<'a, I>
where
    I: IntoIterator<Item = Direction>,
{
    let shape = fabric.shape();
    let (mut here, mut channel, mut along) = (Some(source), channel, None);
    directions.into_iter().map_while(move |direction| {
        let node = here?;
        here = shape.neighbour(node, direction);
        here?;
        channel = rule.after(shape, channel, node, along, direction);
        let hop = Hop { node, direction, link: fabric.link(node, direction), channel, along };
        along = Some(direction);
        Some(hop)
    })
}

/// The hops of a packet in dimension order, from channel 0.
///
/// ```
/// use flitloom_core::fabric::{Fabric, Shape};
/// use flitloom_core::routing::{ChannelRule, Datelines, dimension_order_walk};
/// let fabric = Fabric::new(Shape::torus(&[16, 16])?);
/// let rule = ChannelRule::new(3, Datelines::BOTH);
/// let last = dimension_order_walk(&fabric, rule, 0, 255).last();
/// assert_eq!(last.map(|hop| hop.channel), Some(2), "one wrap-around link each way");
/// # Ok::<(), flitloom_core::fabric::FabricError>(())
/// ```
pub fn dimension_order_walk(
    fabric: &Fabric,
    rule: ChannelRule,
    source: NodeId,
    destination: NodeId,
) -> impl Iterator<Item = Hop> + '_ {
    let shape = fabric.shape();
    let mut here = source;
    let directions = std::iter::from_fn(move || {
        let direction = dimension_order::next(shape, here, destination)?;
        here = shape.neighbour(here, direction)?;
        Some(direction)
    });
    walk(fabric, rule, source, 0, directions)
}
