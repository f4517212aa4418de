// Creates elements in which text stays text.

type Attributes = Record<string, string>;

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export function button(label: string, title: string, act: () => void): HTMLButtonElement {
  const made = element("button", { type: "button", title, "aria-label": title }, label);
  made.addEventListener("click", act);
  return made;
}
