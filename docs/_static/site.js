// Buttons that copy commands and code, and search that works where the site was opened as files.

async function copyOnce(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Where the clipboard is missing or denied, a selection is copied.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

document.addEventListener("DOMContentLoaded", () => {
  const blocks = ".highlight-sh, .highlight-python, .highlight-toml";
  for (const block of document.querySelectorAll(`:is(${blocks}) div.highlight`)) {
    const text = block.querySelector("pre").textContent;
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "copy", textContent: "Copy" });
    button.addEventListener("click", async () => {
      await copyOnce(text);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
    block.append(button);
  }
});

// Browsers do not let pages that were opened as files read each other: search lists titles there, without excerpts.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
