// Elements without markup, announcements, copying, light and dark: what every page of fxrace needs.

const $ = (id) => document.getElementById(id);

/** An element; children may be texts, elements or null. Text is never taken for markup. */
function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** Says something to a screen reader, once. */
function announce(text) {
  $("announcer").textContent = text;
}

/** Puts text on the clipboard; true when it is there. */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = el("textarea", { class: "say-only", "aria-hidden": "true", tabindex: "-1" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/** A button's data-copy names one or more elements whose texts are copied one after another. */
async function copyFrom(button) {
  const ids = button.dataset.copy.split(" ");
  const done = await copyText(ids.map((id) => $(id).textContent).join(""));
  const label = button.firstChild;
  const before = label.textContent;
  label.textContent = done ? "copied" : "not copied";
  announce(done ? "copied" : "the browser refused to copy");
  button.disabled = true;
  setTimeout(() => {
    label.textContent = before;
    button.disabled = false;
  }, 1200);
}

function copyButton(id, what) {
  const hidden = el("span", { class: "say-only" }, ` ${what}`);
  return el("button", { type: "button", class: "copy", "data-copy": id }, "copy", hidden);
}

/** A command with its copy button. */
function commandLine(id, text, what) {
  const code = el("code", { class: "command", id }, text);
  return el("div", { class: "paste" }, code, copyButton(id, what));
}

/** The colour that a custom property stands for in the theme of the moment. */
function colour(name) {
  const probe = el("span", { hidden: true });
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

const themed = [];

/** Calls draw now and whenever light and dark change places. */
function onTheme(draw) {
  themed.push(draw);
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function themeChanged() {
  $("theme").textContent = isDark() ? "light" : "dark";
  for (const draw of themed) draw();
}

function begin() {
  document.documentElement.classList.add("scripted");
  for (const hidden of document.querySelectorAll(".copy, .filter")) hidden.hidden = false;
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-copy]");
    if (button) copyFrom(button);
  });
  $("theme").hidden = false;
  $("theme").setAttribute("title", "switch between light and dark");
  $("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    themeChanged();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", themeChanged);
  $("theme").textContent = isDark() ? "light" : "dark";
  // Paper is light: charts are pictures and do not follow the style sheet by themselves.
  let before;
  addEventListener("beforeprint", () => {
    before = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = "light";
    themeChanged();
  });
  addEventListener("afterprint", () => {
    if (before) document.documentElement.dataset.theme = before;
    else delete document.documentElement.dataset.theme;
    themeChanged();
  });
}

/** Brings what a fragment names into view and gives it the focus. */
function reveal(target) {
  const closed = target.closest("details");
  if (closed) closed.open = true;
  const heading = target.matches("section, article")
    ? target.querySelector("[tabindex='-1']") || target
    : target;
  if (!heading.hasAttribute("tabindex")) heading.setAttribute("tabindex", "-1");
  const arrive = () => {
    target.scrollIntoView({ block: "start", behavior: "instant" });
    heading.focus({ preventScroll: true });
  };
  arrive();
  // What lies above is laid out only now that it was passed: its true height moves the target.
  requestAnimationFrame(arrive);
}

/** Begins at the fragment. The browser does so too, once all is loaded, and takes the focus away. */
function arriveFirst(arrive) {
  if (!location.hash) return;
  arrive();
  addEventListener("load", () => setTimeout(() => named() && reveal(named())));
}

/** The element that the fragment names, if there is one. */
function named() {
  const id = decodeURIComponent(location.hash.slice(1));
  return id ? $(id) : null;
}
