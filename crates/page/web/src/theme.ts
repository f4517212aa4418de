// Light or dark: the system's setting or the reader's choice.

import { element } from "./dom";

const CHOICES = ["auto", "light", "dark"] as const;
type Choice = (typeof CHOICES)[number];

const watchers: (() => void)[] = [];

/** Calls `act` when colors have changed. */
export function onThemeChange(act: () => void): void {
  watchers.push(act);
}

export function startTheme(top: Element): void {
  let choice = remembered();
  const toggle = element("button", { type: "button", class: "theme" });
  const show = () => {
    document.documentElement.dataset.theme = choice;
    toggle.textContent = `Theme: ${choice}`;
    for (const watcher of watchers) watcher();
  };
  toggle.addEventListener("click", () => {
    choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length] ?? "auto";
    remember(choice);
    show();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  top.append(toggle);
  show();
}

// A page from a file may have no storage.
function remembered(): Choice {
  try {
    const choice = localStorage.getItem("holdup-theme");
    return CHOICES.find((known) => known === choice) ?? "auto";
  } catch {
    return "auto";
  }
}

function remember(choice: Choice): void {
  try {
    localStorage.setItem("holdup-theme", choice);
  } catch {
    // Then the choice lasts until the page is closed.
  }
}
