// Logins of plugins at providers, and the requests that they send there.
import { call, describe, notify } from "./messages.mjs";
import { inTime, plugins } from "./plugins.mjs";

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

export const loginMethods = {
  // auth/authorize begins a login. What ends it is kept for auth/callback.
  async "auth/authorize"({ provider, method, inputs }) {
    const { hooks } = findAuth(provider);
    const chosen = hooks.auth.methods[method];
    if (typeof chosen?.authorize !== "function") {
      throw new Error("this method is an API key: cairn auth login " + provider + " stores it");
    }
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
    const getAuth = () => call("auth/get", { provider });
    const loaded = await inTime(hooks.auth.loader(getAuth, info), "its loader returned");
    const { fetch: send, ...options } = loaded ?? {};
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
      for (const { provider: hook } of one.hooks) {
        if (hook?.id === provider && hook.models) return inTime(hook.models(info, { auth }), "its models returned");
      }
    }
  },
};
