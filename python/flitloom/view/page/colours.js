// Colours that people with colour-blindness can tell apart (Okabe and Ito 2008), and a scale for loads (viridis).

export const SLICES = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#f0e442"];

export function sliceColour(slice) {
  return SLICES[slice % SLICES.length];
}

const VIRIDIS = [
  [68, 1, 84],
  [59, 82, 139],
  [33, 145, 140],
  [94, 201, 98],
  [253, 231, 37],
];

/** Colours of what sits on nodes, pale enough for dark text. */
export function siteColour(group) {
  return `hsl(${(group * 137.5) % 360} 65% ${76 - 8 * (group % 2)}%)`;
}

/** Colour of a share from 0 to 1: the most stands out, dark on white and bright on black. */
export function scaleColour(share) {
  const dark = document.documentElement.dataset.theme === "dark";
  const within = Math.min(Math.max(share, 0), 1);
  const place = (dark ? within : 1 - within) * (VIRIDIS.length - 1);
  const index = Math.min(Math.floor(place), VIRIDIS.length - 2);
  const part = place - index;
  const mixed = VIRIDIS[index].map((value, channel) =>
    Math.round(value + part * (VIRIDIS[index + 1][channel] - value)),
  );
  return `rgb(${mixed.join(",")})`;
}

/** Numbers 0 to 255 of a colour like #0072b2. */
export function channels(colour) {
  return [1, 3, 5].map((begin) => parseInt(colour.slice(begin, begin + 2), 16));
}

/** The page's colours for the theme in use. */
export function theme() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(name).trim();
  return {
    idle: get("--idle"),
    blocked: get("--blocked"),
    ink: get("--ink"),
    paper: get("--paper"),
    mark: get("--mark"),
    bound: get("--bound"),
    faint: get("--faint"),
    cable: get("--cable"),
  };
}
