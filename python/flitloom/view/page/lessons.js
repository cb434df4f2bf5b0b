// Lessons of the live page: a text, a question with its answer, and the runs that show it.

const congested = { sizes: "16x16", kind: "load", pattern: "bcmp", rate: 0.4, cycles: 800, flow_control: "cut-through", buffer: 16 };
const ring = { sizes: "8", kind: "load", pattern: "rand", rate: 0.9, cycles: 1000 };
const turning = { sizes: "8x8", kind: "load", pattern: "trns", rate: 0.3, cycles: 1000, flow_control: "cut-through", buffer: 16 };
const shared = { sizes: "8", kind: "load", pattern: "rand", rate: 0.45, length: 16, cycles: 600, channels: 2 };
const worm = { sizes: "8x8", kind: "collective", pattern: "shfl", payload: 14, slices: 1, interval: 0 };
const shuffle = { sizes: "16x16", kind: "collective", pattern: "shfl", payload: 28 };

/** Lessons by the names that links use; `runs` are fields of the form that are not as usual, one object per run. */
export const LESSONS = {
  slices: {
    title: "Slices",
    runs: [{ ...shuffle, slices: 4, interval: 60 }],
    text: "Every node sends one message to another node (perfect shuffle), cut into four slices that start 60 cycles apart. The colours are the slices. Whole messages block each other for long; slices leave gaps in which others pass.",
    question: "What happens with slices: 1? And with an interval of 20?",
    answer: "One slice blocks most, 20 cycles are too few: the next slice meets the one before it. The lower bound grows with each slice, by one header flit.",
  },
  wormhole: {
    title: "Wormhole flow control",
    runs: [worm, { ...worm, buffer: 16 }],
    text: "A packet of 15 flits is longer than a buffer of 4. Where its header waits, its other flits wait in the routers behind, and block those links too (grey). In the second run a buffer holds a whole packet.",
    question: "Which links are blocked in the first run but not in the second?",
    answer: "Links behind a waiting packet. With room for 16 flits the whole packet leaves them, so others can pass. The lower bound is the same: it ignores buffers.",
  },
  channels: {
    title: "Virtual channels",
    runs: [{ ...shared, arbitration: "C01" }, { ...shared, arbitration: "C00" }],
    text: "On this ring packets of 16 flits share a link, each in a virtual channel with a separate buffer. In the first run (C01) the channels take turns, flit by flit. In the second (C00) the channel that was used last goes first.",
    question: "Point at a busy link and step through the cycles. How many packets are on it?",
    answer: "In the first run flits of several packets alternate. In the second a packet keeps the link until its last flit or a gap. A link transfers one flit per cycle in both.",
  },
  deadlock: {
    title: "Deadlock",
    runs: [{ ...ring, channels: 1 }],
    text: "A ring with one virtual channel. Every packet holds a buffer and waits for the next one. Once these waits form a cycle, no flit can ever move again. The cycle is marked, and listed below.",
    question: "Choose 2 channels and simulate again. Why does that help?",
    answer: "Packets that cross a dateline change to the second channel, so the waits no longer form a cycle. See the next lesson.",
  },
  dateline: {
    title: "Dateline",
    runs: [{ ...ring, channels: 2 }, { ...ring, channels: 1, flow_control: "bubble", buffer: 16 }],
    text: "Two ways out of the deadlock on a ring. First: two virtual channels; a packet that crosses a dateline continues in the second. Second: one channel with bubble flow control; a packet enters the ring only if room for another packet stays.",
    question: "Which one accepts more load, and what does each need?",
    answer: "Read the accepted loads above. The dateline needs twice the buffers per link, the bubble needs buffers of two packets.",
  },
  adaptive: {
    title: "Adaptive routing",
    runs: [turning, { ...turning, routing: "ma" }],
    text: "Transposed traffic turns at the diagonal: in dimension order many packets meet on the same links. Adaptive routing (ma) takes any minimal route, and leaves the loaded link for a free one.",
    question: "Does it help with the pattern torn, too?",
    answer: "Little: a packet of torn has one dimension to cross in each row, so there is only one minimal route per dimension to choose from.",
  },
  tree: {
    title: "Congestion tree",
    runs: [{ sizes: "8x8", kind: "load", pattern: "hots", rate: 0.2, cycles: 600 }],
    text: "A tenth of all packets goes to one node (two rings), more than it can receive. Packets wait in front of it, then behind those, until a tree of full buffers reaches packets that never wanted that node.",
    question: "At which rate does the tree no longer grow?",
    answer: "Where the target receives less than one flit per cycle: measure the curves, and see where latency rises.",
  },
  throttle: {
    title: "Throttle",
    runs: [congested, { ...congested, throttle: "pt" }],
    text: "More load is offered than the network accepts. Packets then fill all buffers and block each other. With the throttle pt nodes hold packets back while they see congestion, and the network accepts more.",
    question: "Compare the buffers in use in both runs. Which network delivers everything first?",
    answer: "The throttled one: fewer packets are inside, and those that are move.",
  },
};
