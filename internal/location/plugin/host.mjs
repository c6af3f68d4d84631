// The program that runs OpenCode's plugins for cairn, under Bun or Node. It speaks JSON-RPC 2.0 over its standard input
// and output, one message a line. Lines that it writes begin with its first argument, so that what plugins
// print is told from them; what they print goes to standard error.
import { spawn } from "node:child_process";
import { existsSync, readFileSync, readdirSync, realpathSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { format } from "node:util";

const prefix = process.argv[2];
const isBun = typeof Bun !== "undefined";
const output = process.stdout.write.bind(process.stdout);
const print = (...values) => process.stderr.write(format(...values) + "\n");
process.stdout.write = (chunk, ...rest) => process.stderr.write(chunk, ...rest);
for (const name of ["log", "info", "debug", "warn", "error", "trace", "dir", "table"]) console[name] = print;

// ---- Messages.

let last = 0;
const waiting = new Map(); // own requests, by id
const running = new Map(); // AbortController of a request of cairn, by id

// written, if given, is called when the message is in the pipe.
const send = (message, written) => output(prefix + " " + JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n", written);
const notify = (method, params, written) => send({ method, params }, written);

function call(method, params) {
  return new Promise((resolve, reject) => {
    const id = ++last;
    waiting.set(id, { resolve, reject });
    send({ id, method, params });
  });
}

async function receive(line) {
  const m = JSON.parse(line);
  if (m.method === undefined) {
    const one = waiting.get(m.id);
    waiting.delete(m.id);
    if (m.error) one?.reject(new Error(m.error.message));
    else one?.resolve(m.result);
    return;
  }
  const act = methods[m.method];
  if (m.id === undefined) {
    await act?.(m.params);
    return;
  }
  const abort = new AbortController();
  running.set(m.id, abort);
  try {
    if (!act) throw new Error("unknown method " + m.method);
    send({ id: m.id, result: (await act(m.params, abort.signal, m.id)) ?? null });
  } catch (e) {
    send({ id: m.id, error: { code: -32000, message: describe(e), data: e?.stack ? String(e.stack) : undefined } });
  } finally {
    running.delete(m.id);
  }
}

const describe = (e) => (typeof e === "string" ? e : e?.message || e?.name || format(e));

// ---- Packages. A plugin finds the packages that OpenCode gives to plugins, wherever it is.

// findPackage returns the directory of a package as seen from a directory, or undefined.
function findPackage(name, from) {
  for (let dir = from; ; dir = dirname(dir)) {
    const found = join(dir, "node_modules", name);
    if (existsSync(join(found, "package.json"))) return realpathSync(found);
    if (dirname(dir) === dir) return undefined;
  }
}

// entryOf returns the file that an import of a package runs.
function entryOf(dir, path = ".") {
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

let shared; // the directory of the packages that all plugins can import

// findModule returns the file of an import of a package, seen from a directory and from the shared packages.
function findModule(specifier, from) {
  const parts = specifier.split("/");
  const name = parts.slice(0, specifier[0] === "@" ? 2 : 1).join("/");
  const dir = findPackage(name, from) ?? (shared && findPackage(name, shared));
  const rest = parts.slice(name.split("/").length).join("/");
  return dir && entryOf(dir, rest ? "./" + rest : ".");
}

async function importFrom(specifier, from) {
  const file = findModule(specifier, from);
  if (!file) throw new Error(`the package ${specifier} is not installed; run: cairn plugin update`);
  return import(pathToFileURL(file).href);
}

// shareImports makes imports of OpenCode's packages find the shared ones.
async function shareImports() {
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

// ---- The API of cairn, through the pipe.

const streams = new Map(); // ReadableStreamDefaultController by number

async function apiFetch(input, init) {
  const request = new Request(input, init);
  request.signal?.throwIfAborted();
  const body = request.body ? Buffer.from(await request.arrayBuffer()).toString("base64") : "";
  const number = ++last;
  const closing = () => notify("fetch/cancel", { stream: number });
  const content = new ReadableStream({
    start: (controller) => void streams.set(number, controller),
    cancel() {
      streams.delete(number);
      closing();
    },
  });
  request.signal?.addEventListener("abort", () => {
    streams.get(number)?.error(request.signal.reason);
    streams.delete(number);
    closing();
  });
  const head = await call("fetch", {
    stream: number, method: request.method, url: request.url, headers: Object.fromEntries(request.headers), body,
  }).catch((e) => {
    streams.delete(number);
    throw e;
  });
  const isEmpty = [101, 204, 205, 304].includes(head.status);
  if (isEmpty) streams.delete(number);
  return new Response(isEmpty ? null : content, { status: head.status, headers: head.headers });
}

// shareFetch sends requests to the address of the server through the pipe, also those that do not use the client: OpenCode's
// SDK follows events with the fetch of the runtime. The server refuses connections of this program.
function shareFetch(serverUrl) {
  const { host } = new URL(serverUrl);
  const direct = globalThis.fetch;
  globalThis.fetch = Object.assign((input, init) => {
    try {
      if (new URL(typeof input === "string" ? input : (input.url ?? String(input))).host === host) return apiFetch(input, init);
    } catch {} // no address: fetch says so
    return direct(input, init);
  }, direct);
}

// ---- $, which Node lacks: commands through sh, as far as plugins use them.

const quote = (value) => {
  if (Array.isArray(value)) return value.map(quote).join(" ");
  if (value && typeof value === "object" && "raw" in value) return String(value.raw);
  return "'" + String(value).replaceAll("'", "'\\''") + "'";
};

function makeShell(settings) {
  const shell = (strings, ...values) => {
    let text = strings.raw ? strings.raw[0] : strings[0];
    values.forEach((value, i) => (text += quote(value) + (strings.raw ?? strings)[i + 1]));
    return new ShellPromise(text, { ...settings });
  };
  return Object.assign(shell, {
    escape: (text) => quote(text),
    env: (env) => ((settings.env = env), shell),
    cwd: (cwd) => ((settings.cwd = cwd), shell),
    nothrow: () => ((settings.throws = false), shell),
    throws: (throws) => ((settings.throws = throws), shell),
  });
}

class ShellPromise {
  constructor(text, settings) {
    Object.assign(this, { command: text, settings });
  }
  cwd(cwd) { this.settings.cwd = cwd; return this; }
  env(env) { this.settings.env = env; return this; }
  quiet() { return this; }
  nothrow() { this.settings.throws = false; return this; }
  throws(throws) { this.settings.throws = throws; return this; }
  run() {
    return (this.result ??= new Promise((resolve, reject) => {
      const { cwd, env, throws } = this.settings;
      const child = spawn("sh", ["-c", this.command], { cwd, env: env ?? process.env, stdio: ["ignore", "pipe", "pipe"] });
      const parts = { stdout: [], stderr: [] };
      for (const name of ["stdout", "stderr"]) child[name].on("data", (chunk) => parts[name].push(chunk));
      child.on("error", reject);
      child.on("close", (code, signal) => {
        const out = new ShellOutput(Buffer.concat(parts.stdout), Buffer.concat(parts.stderr), code ?? (signal ? 1 : 0));
        if (out.exitCode === 0 || throws === false) resolve(out);
        else reject(Object.assign(new Error(`Failed with exit code ${out.exitCode}`), out));
      });
    }));
  }
  then(...args) { return this.run().then(...args); }
  catch(f) { return this.run().catch(f); }
  finally(f) { return this.run().finally(f); }
  async text(encoding) { return (await this.run()).text(encoding); }
  async json() { return (await this.run()).json(); }
  async arrayBuffer() { return (await this.run()).arrayBuffer(); }
  async blob() { return (await this.run()).blob(); }
  async *lines() { yield* (await this.text()).replace(/\n$/, "").split("\n"); }
}

class ShellOutput {
  constructor(stdout, stderr, exitCode) {
    Object.assign(this, { stdout, stderr, exitCode });
  }
  text(encoding) { return this.stdout.toString(encoding); }
  json() { return JSON.parse(this.text()); }
  arrayBuffer() { return new Uint8Array(this.stdout).buffer; }
  bytes() { return new Uint8Array(this.stdout); }
  blob() { return new Blob([this.stdout]); }
}

// ---- Plugins.

let plugins = []; // {id, from, hooks: [hooks of each function], tools: {name: definition}, error}
let place; // of init: directory, worktree

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

async function loadPlugin(spec, input) {
  const one = { id: spec.id, from: dirname(spec.file ?? join(spec.package, "package.json")), hooks: [], tools: {}, parsers: new Map() };
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

function inTime(work, what, time = loadTime) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it took more than ${time / 1000} s until ${what}`)), time);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

const find = (id) => {
  const one = plugins.find((p) => p.id === id);
  if (!one) throw new Error("no plugin " + id);
  return one;
};

// zodsFor returns the copies of zod that a plugin's schemas may be made with, the likeliest first: that of OpenCode's
// package, its own, and the shared one.
async function zodsFor(one) {
  const kit = findPackage("@opencode-ai/plugin", one.from) ?? (shared && findPackage("@opencode-ai/plugin", shared));
  const files = [kit, one.from, shared].filter(Boolean).map((from) => findModule("zod", from));
  return Promise.all([...new Set(files.filter(Boolean))].map((file) => import(pathToFileURL(file).href)));
}

// schemaOf returns the JSON Schema of a tool's arguments. The definition keeps what parses them.
async function schemaOf(one, definition) {
  const args = definition.args ?? {};
  if (args.type === "object" && args.properties && !args.type._zod) return args;
  const values = Object.values(args);
  if (!values.every((value) => value?._zod)) return objectSchema(args);
  let failure = new Error("the package zod is not installed; run: cairn plugin update");
  for (const { z } of await zodsFor(one)) {
    try {
      const shape = z.object(args);
      const schema = z.toJSONSchema(shape, { io: "input", unrepresentable: "any" });
      one.parsers.set(definition, shape);
      addDescriptions(schema, args);
      return schema;
    } catch (e) {
      failure = e; // another copy of zod than that which made the schema
    }
  }
  if (values.length === 0) return { type: "object", properties: {} };
  throw failure;
}

// addDescriptions adds those that zod keeps beside its schemas, where only the copy that made a schema finds them.
function addDescriptions(schema, shape) {
  for (const [name, value] of Object.entries(shape)) {
    const member = schema.properties?.[name];
    if (!member) continue;
    let inner = value;
    for (; inner && !member.description; inner = inner._zod?.def?.innerType) member.description = inner.description;
    while (inner?._zod?.def?.innerType) inner = inner._zod.def.innerType;
    const nested = inner?._zod?.def?.shape;
    if (nested) addDescriptions(member, nested);
    const element = inner?._zod?.def?.element?._zod?.def?.shape;
    if (element && member.items) addDescriptions(member.items, element);
  }
}

// objectSchema returns the JSON Schema of a shape of zod 3, as far as tools use it.
function objectSchema(shape) {
  const out = { type: "object", properties: {}, required: [] };
  for (const [name, value] of Object.entries(shape)) {
    const [schema, isOptional] = oldSchema(value);
    out.properties[name] = schema;
    if (!isOptional) out.required.push(name);
  }
  return out;
}

function oldSchema(value) {
  const about = value?._def ?? {};
  const of = (v) => oldSchema(v)[0];
  let schema = {};
  let isOptional = false;
  switch (about.typeName) {
    case "ZodString": schema = { type: "string" }; break;
    case "ZodNumber": schema = { type: "number" }; break;
    case "ZodBoolean": schema = { type: "boolean" }; break;
    case "ZodArray": schema = { type: "array", items: of(about.type) }; break;
    case "ZodEnum": schema = { enum: about.values }; break;
    case "ZodLiteral": schema = { const: about.value }; break;
    case "ZodObject": schema = objectSchema(about.shape()); break;
    case "ZodRecord": schema = { type: "object", additionalProperties: of(about.valueType) }; break;
    case "ZodUnion": schema = { anyOf: about.options.map(of) }; break;
    case "ZodNullable": schema = { anyOf: [of(about.innerType), { type: "null" }] }; break;
    case "ZodOptional": case "ZodDefault": [schema, isOptional] = [of(about.innerType), true]; break;
    case "ZodEffects": schema = of(about.schema); break;
  }
  if (value?.description) schema = { ...schema, description: value.description };
  return [schema, isOptional];
}

const methods = {
  // init loads the plugins, one after the other, and returns what they offer.
  async init(params) {
    place = params;
    process.chdir(place.directory); // it was started elsewhere, so that no file of the directory changes how it starts
    shared = params.shared;
    await shareImports();
    shareFetch(params.serverUrl);
    let client;
    const unavailable = new Proxy({}, {
      get(_, name) {
        if (name === "then") return undefined;
        throw new Error("the package @opencode-ai/sdk is not installed; run: cairn plugin update");
      },
    });
    const sdkFrom = (from) => findModule("@opencode-ai/sdk", from);
    for (const spec of params.plugins) {
      const from = spec.package ?? dirname(spec.file);
      if (client || !sdkFrom(from)) continue;
      const { createOpencodeClient } = await import(pathToFileURL(sdkFrom(from)).href);
      client = createOpencodeClient({ baseUrl: params.serverUrl, fetch: apiFetch, directory: params.directory });
    }
    const input = {
      client: client ?? unavailable, project: params.project, directory: params.directory, worktree: params.worktree,
      serverUrl: new URL(params.serverUrl), $: isBun ? Bun.$ : makeShell({ cwd: params.directory }),
    };
    for (const spec of params.plugins) plugins.push(await loadPlugin(spec, input));
    const config = params.config;
    for (const one of plugins) {
      for (const hooks of one.hooks) {
        try {
          if (hooks.config) await inTime(hooks.config(config), "its config hook returned");
        } catch (e) {
          one.error ??= "config: " + describe(e);
        }
      }
    }
    return { runtime: isBun ? "bun " + Bun.version : "node " + process.version, plugins: await Promise.all(plugins.map(offerOf)), config };
  },

  // hook calls the functions of a plugin for one hook, one after the other. They change the output in place.
  async hook({ plugin, name, input, output }) {
    for (const hooks of find(plugin).hooks) await hooks[name]?.(input, output);
    return output;
  },

  // start follows the events of the location, if a plugin wants them.
  async start() {
    if (plugins.some((one) => one.hooks.some((hooks) => hooks.event))) followEvents();
  },

  async tool({ plugin, name, args, context }, signal, id) {
    const one = find(plugin);
    const definition = one.tools[name];
    const parsed = one.parsers.get(definition)?.safeParse(args);
    if (parsed) {
      if (!parsed.success) throw new Error(`The arguments of ${name} are invalid: ${parsed.error.message}`);
      args = parsed.data;
    }
    const result = await definition.execute(args, {
      ...context, directory: place.directory, worktree: place.worktree, abort: signal,
      metadata: (state) => notify("tool/metadata", { call: id, ...state }),
      ask: (request) => call("tool/ask", { call: id, ...request }),
    });
    return typeof result === "string" ? { output: result } : { ...result, output: String(result?.output ?? "") };
  },

  // auth/authorize begins a login. What ends it is kept for auth/callback.
  async "auth/authorize"({ provider, method, inputs }) {
    const { hooks } = findAuth(provider);
    const chosen = hooks.auth.methods[method];
    if (typeof chosen?.authorize !== "function") throw new Error("this method is an API key: cairn auth login " + provider + " stores it");
    const result = await chosen.authorize(inputs ?? {});
    if (!result?.url) return { result };
    callbacks.set(provider, result.callback);
    return { url: String(result.url), instructions: String(result.instructions ?? ""), method: result.method };
  },

  async "auth/callback"({ provider, code }) {
    const end = callbacks.get(provider);
    if (!end) throw new Error("no login at " + provider + " was begun");
    return end(code);
  },

  // auth/load asks for the options of a provider that is logged in, and keeps its fetch.
  async "auth/load"({ provider, info }) {
    const { hooks } = findAuth(provider);
    const { fetch: send, ...options } = (await inTime(hooks.auth.loader(() => call("auth/get", { provider }), info), "its loader returned")) ?? {};
    if (typeof send === "function") fetches.set(provider, send);
    return { options, hasFetch: typeof send === "function" };
  },

  // auth/fetch sends a request with the fetch of a plugin. The body of the answer follows in notifications.
  async "auth/fetch"({ provider, stream, method, url, headers, body }, signal) {
    // Plugins read JSON as text; other bodies stay as they are.
    const bytes = body ? Buffer.from(body, "base64") : undefined;
    const type = Object.entries(headers).find(([name]) => name.toLowerCase() === "content-type")?.[1] ?? "";
    const text = bytes && /json|text|^$/.test(type) ? bytes.toString() : bytes;
    const send = fetches.get(provider);
    if (!send) throw new Error("no login at " + provider + " is loaded: its loader failed, or returned no fetch");
    const closing = new AbortController();
    signal.addEventListener("abort", () => closing.abort(signal.reason));
    const answer = await send(url, { method, headers, body: text, signal: closing.signal });
    sending.set(stream, closing);
    sendBody(stream, answer);
    return { status: answer.status, headers: Object.fromEntries(answer.headers) };
  },

  "response/cancel"({ stream }) {
    sending.get(stream)?.abort(new DOMException("The answer is not read any more.", "AbortError"));
  },

  // models asks a plugin for the models of its provider.
  async models({ provider, info, auth }) {
    for (const one of plugins) {
      for (const { provider: hook } of one.hooks) if (hook?.id === provider && hook.models) return inTime(hook.models(info, { auth }), "its models returned");
    }
  },

  cancel({ id }) {
    running.get(id)?.abort(new DOMException("The call was stopped.", "AbortError"));
  },

  ping() {},

  "fetch/chunk"({ stream, data }) {
    streams.get(stream)?.enqueue(new Uint8Array(Buffer.from(data, "base64")));
  },

  "fetch/end"({ stream, error }) {
    const controller = streams.get(stream);
    streams.delete(stream);
    if (error) controller?.error(new Error(error));
    else controller?.close();
  },

  // dispose lets plugins end what they do, after they have seen the events that have come.
  async dispose() {
    const seen = Promise.resolve(following).then(() => giving);
    await Promise.race([seen, new Promise((resolve) => setTimeout(resolve, 300))]);
    for (const one of plugins) for (const hooks of one.hooks) await hooks.dispose?.();
  },
};

// ---- Logins.

const callbacks = new Map(); // what ends a login, by provider
const fetches = new Map(); // by provider
const sending = new Map(); // AbortController of an answer that is sent on, by stream

function findAuth(provider) {
  for (const one of plugins) for (const hooks of one.hooks) if (hooks.auth?.provider === provider) return { one, hooks };
  throw new Error("no plugin logs in at " + provider);
}

async function sendBody(stream, answer) {
  const end = { stream };
  try {
    for await (const chunk of answer.body ?? []) {
      if (sending.get(stream)?.signal.aborted) break; // also a fetch that does not know the signal ends here
      const piece = { stream, data: Buffer.from(chunk).toString("base64") };
      await new Promise((written) => notify("response/chunk", piece, written)); // reads no faster than cairn does
    }
  } catch (e) {
    end.error = describe(e);
  }
  sending.delete(stream);
  notify("response/end", end);
}

async function offerOf(one) {
  const names = new Set(one.hooks.flatMap((hooks) => Object.keys(hooks).filter((name) => typeof hooks[name] === "function")));
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

// Events wait here while plugins look at the ones before. Plugins that are too slow miss some.
const events = [];
const maxEvents = 1000;
let following; // until the stream of events ends
let giving; // until all events that have come are given to plugins

function addEvent(event) {
  if (foreign.test(event.type)) return;
  if (events.length >= maxEvents) {
    print(`events: more than ${maxEvents} wait for plugins; ${event.type} is dropped`);
    return;
  }
  if (events.push(event) === 1) giving = giveEvents();
}

// giveEvents gives the events to plugins, one after the other.
async function giveEvents() {
  for (; events.length > 0; events.shift()) await giveEvent(events[0]);
}

// followEvents reads events until the program ends.
async function followEvents() {
  let pause = 500;
  for (;;) {
    let end;
    following = new Promise((resolve) => (end = resolve));
    try {
      const response = await apiFetch(place.serverUrl + "/event?directory=" + encodeURIComponent(place.directory));
      if (!response.ok) throw new Error("the server answers " + response.status);
      let text = "";
      const decoder = new TextDecoder();
      for await (const chunk of response.body) {
        const blocks = (text += decoder.decode(chunk, { stream: true })).split("\n\n");
        text = blocks.pop();
        for (const block of blocks) {
          const data = block.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trim()).join("\n");
          if (data) addEvent(JSON.parse(data));
        }
      }
    } catch (e) {
      print("events:", describe(e));
    }
    end();
    await new Promise((resolve) => setTimeout(resolve, (pause = Math.min(pause * 2, 60_000))));
  }
}

// Events of the stream itself and of the second contract, which OpenCode does not give to plugins.
const foreign = /^(server\.|session\.next\.|permission\.v2\.|question\.v2\.)/;

async function giveEvent(event) {
  for (const one of plugins) {
    for (const hooks of one.hooks) {
      try {
        await inTime(hooks.event?.({ event }), event.type + " was handled", place.eventTime);
      } catch (e) {
        print(`${one.id}: event:`, e);
      }
    }
  }
}

process.on("uncaughtException", (e) => print("uncaught:", e));
process.on("unhandledRejection", (e) => print("unhandled:", e));

let rest = []; // pieces of a line
process.stdin.on("data", (chunk) => {
  for (let end; (end = chunk.indexOf(10)) >= 0; chunk = chunk.subarray(end + 1)) {
    const line = Buffer.concat([...rest, chunk.subarray(0, end)]).toString();
    rest = [];
    receive(line).catch((e) => print("message:", e));
  }
  if (chunk.length) rest.push(chunk);
});
process.stdin.on("end", () => process.exit(0));
