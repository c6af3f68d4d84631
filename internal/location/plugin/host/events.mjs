// Events of the location, for the plugins that follow them.
import { apiFetch } from "./api.mjs";
import { describe, print } from "./messages.mjs";
import { inTime, place, plugins } from "./plugins.mjs";

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
          if (data) addEvent(JSON.parse(data));
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

// settled returns when the stream of events has ended and all of them are given to plugins.
export async function settled() {
  await following;
  await giving;
}
