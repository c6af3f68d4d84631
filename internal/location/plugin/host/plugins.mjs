// Plugins: how they are loaded, and what they offer.
import { readFileSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, print } from "./messages.mjs";
import { entryOf } from "./packages.mjs";
import { schemaOf } from "./schema.mjs";

export const plugins = []; // {id, from, hooks: [hooks of each function], tools: {name: definition}, error}
export const place = {}; // of init: directory, worktree

// pluginsOf returns the functions of a module that are plugins: each once.
function pluginsOf(module) {
  const found = new Set();
  for (const value of Object.values(module)) {
    if (typeof value === "function") found.add(value);
    else if (value && typeof value.server === "function") found.add(value.server);
  }
  const server = module.default?.server;
  return typeof server === "function" ? [server] : [...found];
}

export async function loadPlugin(spec, input) {
  const from = dirname(spec.file ?? join(spec.package, "package.json"));
  const one = { id: spec.id, from, hooks: [], tools: {}, parsers: new Map() };
  try {
    const file = spec.file ?? entryOf(spec.package, hasServer(spec.package) ? "./server" : ".");
    const module = await inTime(import(pathToFileURL(file).href), "it was imported");
    if (spec.isTool) {
      const name = basename(spec.file, extname(spec.file));
      for (const [key, value] of Object.entries(module)) {
        if (typeof value?.execute === "function") one.tools[key === "default" ? name : name + "_" + key] = value;
      }
      if (Object.keys(one.tools).length === 0) throw new Error("it exports no tool: an object with a function execute");
      return one;
    }
    const makes = pluginsOf(module);
    if (makes.length === 0) throw new Error("it exports no plugin: a function, or an object with a function server");
    for (const make of makes) one.hooks.push((await inTime(make(input, spec.options), "it was loaded")) ?? {});
    for (const hooks of one.hooks) Object.assign(one.tools, hooks.tool);
  } catch (e) {
    one.error = describe(e);
    print(e);
  }
  return one;
}

function hasServer(dir) {
  const { exports } = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
  return Boolean(exports && typeof exports === "object" && "./server" in exports);
}

// A plugin that does not come to an end when it is loaded does not keep the others from it.
const loadTime = 5000;

export function inTime(work, what, time = loadTime) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it took more than ${time / 1000} s until ${what}`)), time);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

export const find = (id) => {
  const one = plugins.find((p) => p.id === id);
  if (!one) throw new Error("no plugin " + id);
  return one;
};

// offerOf returns what a plugin offers.
export async function offerOf(one) {
  const isHook = (hooks) => (name) => typeof hooks[name] === "function";
  const names = new Set(one.hooks.flatMap((hooks) => Object.keys(hooks).filter(isHook(hooks))));
  const tools = [];
  for (const [name, definition] of Object.entries(one.tools)) {
    try {
      tools.push({ name, description: String(definition.description ?? ""), schema: await schemaOf(one, definition) });
    } catch (e) {
      one.error ??= `tool ${name}: ` + describe(e);
    }
  }
  const auths = one.hooks.filter((hooks) => hooks.auth?.provider).map(({ auth }) => ({
    provider: auth.provider, hasLoader: typeof auth.loader === "function",
    methods: (auth.methods ?? []).map(({ type, label }) => ({ type, label: String(label ?? type) })),
  }));
  const models = one.hooks.filter((hooks) => hooks.provider?.models).map((hooks) => hooks.provider.id);
  return { id: one.id, error: one.error, hooks: [...names], tools, auths, models };
}
