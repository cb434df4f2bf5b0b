// The page in a frame of a notebook; what it looks at is the model's, both ways.

const SHARED = ["cycle", "playing", "link"];

export default {
  render({ model, el }) {
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts");
    frame.title = model.get("title");
    frame.srcdoc = model.get("page");
    frame.style.cssText = "width: 100%; border: 0";
    let told = false;
    let begun = false;
    const size = () => {
      frame.style.height = `${model.get("height")}px`;
    };
    const ask = (...names) => {
      const wanted = Object.fromEntries(names.map((name) => [name, model.get(name)]));
      if (!told) frame.contentWindow?.postMessage({ flitloom: wanted }, "*");
    };
    const askCycle = () => ask("cycle");
    const askPlaying = () => ask("playing");
    const listen = (event) => {
      const said = event.source === frame.contentWindow && event.data?.flitloom;
      if (!said) return;
      if (!begun) {
        // The page is there: what was asked before it was.
        begun = true;
        if (model.get("cycle") || model.get("playing")) return ask("cycle", "playing");
      }
      told = true;
      for (const name of SHARED) if (said[name] !== model.get(name)) model.set(name, said[name]);
      model.save_changes();
      told = false;
    };
    size();
    window.addEventListener("message", listen);
    model.on("change:cycle", askCycle);
    model.on("change:playing", askPlaying);
    model.on("change:height", size);
    el.append(frame);
    return () => {
      window.removeEventListener("message", listen);
      model.off("change:cycle", askCycle);
      model.off("change:playing", askPlaying);
      model.off("change:height", size);
    };
  },
};
