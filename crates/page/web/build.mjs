// Builds ../assets/page.html: the template with styles and script, and the policy that allows only these two.
//
//   node build.mjs           writes it
//   node build.mjs --check   fails if the committed page differs from what the sources build
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const asset = here("../assets/page.html");

const bundle = async (entry) => {
  const result = await build({
    entryPoints: [here(entry)],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: ["chrome111", "firefox121", "safari17.5"],
    charset: "utf8",
    legalComments: "none",
  });
  return result.outputFiles[0].text.trim();
};

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const [script, style, template] = await Promise.all([
  bundle("src/main.ts"),
  bundle("src/page.css"),
  readFile(here("src/page.html"), "utf8"),
]);
if (/<\/(script|style)|<!--/i.test(script + style)) {
  throw new Error("script or style would end its own element");
}
const policy = [
  "default-src 'none'",
  `script-src ${hash(script)}`,
  `style-src ${hash(style)}`,
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");
const page = template
  .replace("%policy%", () => policy)
  .replace("%style%", () => style)
  .replace("%script%", () => script);

if (process.argv.includes("--check")) {
  const committed = await readFile(asset, "utf8").catch(() => "");
  if (committed !== page) {
    console.error("crates/page/assets/page.html is not what crates/page/web builds to: run `npm run build` there and commit it");
    process.exit(1);
  }
} else {
  await writeFile(asset, page);
  console.log(`assets/page.html: ${Math.ceil(page.length / 1000)} kB`);
}
