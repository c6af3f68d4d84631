// The API of cairn, through the pipe.
import { call, nextNumber, notify } from "./messages.mjs";

const streams = new Map(); // ReadableStreamDefaultController by number

export async function apiFetch(input, init) {
  const request = new Request(input, init);
  request.signal?.throwIfAborted();
  const body = request.body ? Buffer.from(await request.arrayBuffer()).toString("base64") : "";
  const number = nextNumber();
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
export function shareFetch(serverUrl) {
  const { host } = new URL(serverUrl);
  const direct = globalThis.fetch;
  globalThis.fetch = Object.assign((input, init) => {
    try {
      if (new URL(typeof input === "string" ? input : (input.url ?? String(input))).host === host) return apiFetch(input, init);
    } catch {} // no address: fetch says so
    return direct(input, init);
  }, direct);
}

export const apiMethods = {
  "fetch/chunk"({ stream, data }) {
    streams.get(stream)?.enqueue(new Uint8Array(Buffer.from(data, "base64")));
  },

  "fetch/end"({ stream, error }) {
    const controller = streams.get(stream);
    streams.delete(stream);
    if (error) controller?.error(new Error(error));
    else controller?.close();
  },
};
