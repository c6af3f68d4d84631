// Events of the location, for the plugins that follow them.
import { apiFetch } from "./api.mjs";
import { describe, print } from "./messages.mjs";
import { place, plugins } from "./plugins.mjs";

// Plugins get each event at once and one does not wait for another, as in OpenCode. A plugin that does not come to an end with
// so many misses others.
const maxGiven = 100;
const given = new Set(); // the events that plugins look at
let following; // until the stream of events ends

// giveEvent gives an event to the plugins.
function giveEvent(event) {
  if (foreign.test(event.type)) return;
  for (const one of plugins) {
    one.given ??= 0;
    for (const hooks of one.hooks) {
      if (!hooks.event) continue;
      if (one.given >= maxGiven) {
        print(`${one.id}: event: ${maxGiven} are not handled yet; ${event.type} is dropped`);
        continue;
      }
      one.given++;
      const handled = (async () => hooks.event({ event }))()
        .catch((e) => print(`${one.id}: event:`, e))
        .finally(() => (one.given--, given.delete(handled)));
      given.add(handled);
    }
  }
}

const eventsEnd = new AbortController();

// stopEvents ends the events of plugins whose place others have taken.
export function stopEvents() {
  eventsEnd.abort();
}

// followEvents reads events until the program ends, or stopEvents is called.
export async function followEvents() {
  let pause = 500;
  while (!eventsEnd.signal.aborted) {
    let end;
    following = new Promise((resolve) => (end = resolve));
    try {
      const response = await apiFetch(place.serverUrl + "/event?directory=" + encodeURIComponent(place.directory), {
        signal: eventsEnd.signal,
      });
      if (!response.ok) throw new Error("the server answers " + response.status);
      let text = "";
      const decoder = new TextDecoder();
      for await (const chunk of response.body) {
        const blocks = (text += decoder.decode(chunk, { stream: true })).split("\n\n");
        text = blocks.pop();
        for (const block of blocks) {
          const lines = block.split("\n").filter((line) => line.startsWith("data:"));
          const data = lines.map((line) => line.slice(5).trim()).join("\n");
          if (data) giveEvent(JSON.parse(data));
        }
      }
    } catch (e) {
      if (!eventsEnd.signal.aborted) print("events:", describe(e));
    }
    end();
    await new Promise((resolve) => setTimeout(resolve, (pause = Math.min(pause * 2, 60_000))));
  }
}

// Events of the stream itself and of the second contract, which OpenCode does not give to plugins.
const foreign = /^(server\.|session\.next\.|permission\.v2\.|question\.v2\.)/;

// settled returns when the stream of events has ended and all of them are given to plugins.
export async function settled() {
  await following;
  await Promise.all(given);
}
