// Experiments of the live page as links: what follows # in the address.

/** The lesson, the runs (fields of the form that differ from the usual ones) and the switches that a link asks for. */
export function readLink(hash) {
  const asked = { lesson: null, runs: [], play: false, curves: false };
  for (const part of hash.replace(/^#/, "").split(";")) {
    const fields = Object.fromEntries(new URLSearchParams(part));
    for (const name of ["play", "curves"]) {
      if (name in fields) asked[name] = true;
      delete fields[name];
    }
    if ("lesson" in fields) asked.lesson = fields.lesson;
    delete fields.lesson;
    if (Object.keys(fields).length) asked.runs.push(fields);
  }
  return asked;
}

/** The link of a lesson, or of runs. */
export function writeLink({ lesson = null, runs = [], curves = false }) {
  const parts = lesson ? [`lesson=${lesson}`] : runs.map((fields) => new URLSearchParams(fields).toString() || "sizes=16x16");
  return `#${parts.join(";")}${curves ? `${parts.length ? "&" : ""}curves=1` : ""}`;
}

/** Fields of a form that differ from the usual ones. */
export function fieldsOf(form) {
  const usual = (field) =>
    field.tagName === "SELECT" ? ([...field.options].find((one) => one.defaultSelected) ?? field.options[0]).value : field.defaultValue;
  return Object.fromEntries([...form.elements].filter((field) => field.name && field.value !== usual(field)).map((field) => [field.name, field.value]));
}

/** Fill a form: its usual values, except for some. */
export function fill(form, fields) {
  form.reset();
  for (const [name, value] of Object.entries(fields)) {
    // A field may be called like a property of the list of fields (length).
    const field = form.elements.namedItem(name);
    if (!field?.name) throw new Error(`the link has the field '${name}', which this page does not know`);
    field.value = String(value);
    if (field.value !== String(value)) throw new Error(`the link has ${name}=${value}, which is not a choice here`);
  }
}
