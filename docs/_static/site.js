// Buttons that copy commands and code, long output that is folded, and search that works in a site opened as files.

/** Output of more lines than this is folded, to this many lines of CSS. */
const LONGEST = 16;

/** Copy a text; whether that worked. */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Where the clipboard is missing or denied, a selection is copied.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/** Let lines of output wrap, except those of tables: the line above a rule of dashes, and rows no longer than it. */
function wrapLines(pre) {
  const lines = pre.textContent.trimEnd().split("\n");
  let width = 0;
  const parts = lines.map((line, at) => {
    const isRule = (text) => /^-{2,}( +-{2,})*$/.test(text ?? "");
    if (isRule(line)) width = line.length;
    else if (!line || line.length > width) width = 0;
    const isRow = width || isRule(lines[at + 1]);
    return Object.assign(document.createElement("span"), { className: isRow ? "row" : "line", textContent: line || " " });
  });
  pre.replaceChildren(...parts);
}

/** Keep options whole: lines may end after any hyphen, also after the two of an option. */
function keepOptions(element) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const text of texts) {
    const parts = text.data.split(/((?<![\w-])--?[a-z][\w-]*)/);
    if (parts.length === 1) continue;
    const option = (part) => Object.assign(document.createElement("span"), { className: "option", textContent: part });
    text.replaceWith(...parts.map((part, at) => (at % 2 ? option(part) : part)));
  }
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll(":is(.highlight-sh, .highlight-bash) pre, code.literal").forEach(keepOptions);
  const blocks = ".highlight-sh, .highlight-bash, .highlight-python, .highlight-py, .highlight-toml";
  for (const block of document.querySelectorAll(`:is(${blocks}) div.highlight`)) {
    const text = block.querySelector("pre").textContent;
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "copy", textContent: "Copy" });
    button.addEventListener("click", async () => {
      button.textContent = (await copied(text)) ? "Copied" : "Select and copy";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
    block.append(button);
  }
  for (const block of document.querySelectorAll(".highlight-text div.highlight")) {
    const lines = block.querySelector("pre").textContent.trimEnd().split("\n").length;
    wrapLines(block.querySelector("pre"));
    if (lines <= LONGEST) continue;
    const button = Object.assign(document.createElement("button"), { type: "button", className: "unfold" });
    const fold = (folded) => {
      block.classList.toggle("folded", folded);
      button.textContent = folded ? `Show all ${lines} lines` : "Show less";
      button.setAttribute("aria-expanded", String(!folded));
    };
    button.addEventListener("click", () => fold(!block.classList.contains("folded")));
    fold(true);
    block.append(button);
  }
});

// Browsers do not let pages that were opened as files read each other: search lists titles there, without excerpts.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
