// The program that runs OpenCode's plugins for cairn, under Bun or Node. Lines that it writes begin with its first argument,
// so that what plugins print is told from them.
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { apiFetch, apiMethods, shareFetch } from "./api.mjs";
import { followEvents, settled, stopEvents } from "./events.mjs";
import { loginMethods } from "./logins.mjs";
import { call, describe, notify, print, receive, running } from "./messages.mjs";
import { findModule, isBun, setShared, shareImports } from "./packages.mjs";
import { find, inTime, loadPlugin, offerOf, place, plugins } from "./plugins.mjs";
import { makeShell } from "./shell.mjs";

const methods = {
  ...apiMethods,
  ...loginMethods,

  // init loads the plugins, one after the other, and returns what they offer.
  async init(params) {
    Object.assign(place, params);
    process.chdir(place.directory); // it was started elsewhere, so that no file of the directory changes how it starts
    setShared(params.shared);
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
    const runtime = isBun ? "bun " + Bun.version : "node " + process.version;
    return { runtime, plugins: await Promise.all(plugins.map(offerOf)), config };
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

  cancel({ id }) {
    running.get(id)?.abort(new DOMException("The call was stopped.", "AbortError"));
  },

  ping() {},

  "events/stop": stopEvents,

  // dispose lets plugins end what they do, after they have seen the events that have come.
  async dispose() {
    await Promise.race([settled(), new Promise((resolve) => setTimeout(resolve, 300))]);
    for (const one of plugins) for (const hooks of one.hooks) await hooks.dispose?.();
  },
};

process.on("uncaughtException", (e) => print("uncaught:", e));
process.on("unhandledRejection", (e) => print("unhandled:", e));

let rest = []; // pieces of a line
process.stdin.on("data", (chunk) => {
  for (let end; (end = chunk.indexOf(10)) >= 0; chunk = chunk.subarray(end + 1)) {
    const line = Buffer.concat([...rest, chunk.subarray(0, end)]).toString();
    rest = [];
    receive(line, methods).catch((e) => print("message:", e));
  }
  if (chunk.length) rest.push(chunk);
});
process.stdin.on("end", () => process.exit(0));
