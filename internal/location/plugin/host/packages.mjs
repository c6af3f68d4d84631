// Packages: a plugin finds those that OpenCode gives to plugins, wherever it is.
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const isBun = typeof Bun !== "undefined";

// findPackage returns the directory of a package as seen from a directory, or undefined.
export function findPackage(name, from) {
  for (let dir = from; ; dir = dirname(dir)) {
    const found = join(dir, "node_modules", name);
    if (existsSync(join(found, "package.json"))) return realpathSync(found);
    if (dirname(dir) === dir) return undefined;
  }
}

// entryOf returns the file that an import of a package runs.
export function entryOf(dir, path = ".") {
  const about = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
  const conditions = ["import", isBun ? "bun" : "node", "node", "default", "require"];
  const choose = (value) => {
    if (typeof value === "string" || !value) return value;
    if (Array.isArray(value)) return value.map(choose).find(Boolean);
    for (const name of Object.keys(value)) if (conditions.includes(name) && choose(value[name])) return choose(value[name]);
  };
  const table = about.exports;
  const has = (key) => table && typeof table === "object" && !Array.isArray(table) && key in table;
  let target;
  if (has(path)) target = choose(table[path]);
  else if (path === "." && table && !Object.keys(table).some((key) => key.startsWith("."))) target = choose(table);
  else if (path === ".") target = about.module ?? about.main;
  target ??= path === "." ? "index.js" : path;
  for (const end of ["", ".js", ".mjs", ".ts", "/index.js", "/index.ts"]) {
    if (existsSync(join(dir, target + end)) && extname(target + end)) return join(dir, target + end);
  }
  throw new Error(`${about.name} has no entry point ${path}`);
}

export let shared; // the directory of the packages that all plugins can import

export const setShared = (dir) => (shared = dir);

// findModule returns the file of an import of a package, seen from a directory and from the shared packages.
export function findModule(specifier, from) {
  const parts = specifier.split("/");
  const name = parts.slice(0, specifier[0] === "@" ? 2 : 1).join("/");
  const dir = findPackage(name, from) ?? (shared && findPackage(name, shared));
  const rest = parts.slice(name.split("/").length).join("/");
  return dir && entryOf(dir, rest ? "./" + rest : ".");
}

// shareImports makes imports of OpenCode's packages find the shared ones.
export async function shareImports() {
  const names = /^(@opencode-ai\/(plugin|sdk)|zod)(\/|$)/;
  if (isBun) {
    Bun.plugin({
      name: "cairn",
      setup(build) {
        build.onResolve({ filter: names }, (args) => {
          const { importer } = args;
          const from = importer ? dirname(importer.startsWith("file:") ? fileURLToPath(importer) : importer) : process.cwd();
          const path = findModule(args.path, from);
          return path ? { path } : undefined;
        });
      },
    });
    return;
  }
  const { registerHooks } = await import("node:module");
  registerHooks?.({
    resolve(specifier, context, next) {
      if (!names.test(specifier)) return next(specifier, context);
      const from = context.parentURL?.startsWith("file:") ? dirname(fileURLToPath(context.parentURL)) : process.cwd();
      const path = findModule(specifier, from);
      return path ? { url: pathToFileURL(path).href, shortCircuit: true } : next(specifier, context);
    },
  });
}
