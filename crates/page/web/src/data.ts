// The data blocks of the page: deflated, in base64.

const parsed = new Promise<void>((done) => {
  if (document.readyState !== "loading") done();
  else document.addEventListener("DOMContentLoaded", () => done(), { once: true });
});

/** Whether the page has a block of that name. */
export async function has(name: string): Promise<boolean> {
  await parsed;
  return document.querySelector(`script[data-name="${CSS.escape(name)}"]`) !== null;
}

/** The bytes of a block. Blocks after the script exist when the page is parsed. */
export async function bytes(name: string): Promise<Uint8Array> {
  const find = () => document.querySelector(`script[data-name="${CSS.escape(name)}"]`);
  let block = find();
  // An element that is still being parsed may hold a part of its text.
  if (!block || !block.nextSibling) {
    await parsed;
    block = find();
  }
  if (!block) throw new Error(`the page has no block ${name}`);
  const binary = atob(block.textContent ?? "");
  const deflated = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) deflated[at] = binary.charCodeAt(at);
  const stream = new Blob([deflated]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export async function json<T>(name: string): Promise<T> {
  return JSON.parse(new TextDecoder().decode(await bytes(name))) as T;
}
