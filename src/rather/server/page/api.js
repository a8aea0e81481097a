// Talking to the server: JSON, a time limit, and again with back-off where waiting may help.

import { el } from './dom.js';

const LIMIT = 10_000; // milliseconds for one try
const FIRST = 1_000; // wait after the first failure, then twice as long each time
const LONGEST = 30_000;

export class Refused extends Error {
  constructor(status, sentence, wait) {
    super(sentence);
    this.status = status;
    this.wait = wait;
    this.final = status < 500 && status !== 429; // the same again would be refused again
  }
}

async function once(path, body, signal) {
  const stop = new AbortController();
  const end = () => stop.abort();
  const timer = setTimeout(end, LIMIT);
  signal?.addEventListener('abort', end);
  try {
    const post = body && {
      method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' },
      keepalive: true, // an answer outlives the page it was given on
    };
    const reply = await fetch(path, { signal: stop.signal, ...post });
    if (reply.ok) return await reply.json();
    const { error = `The server answered ${reply.status}.` } = await reply.json().catch(() => ({}));
    throw new Refused(reply.status, String(error), 1000 * (Number(reply.headers.get('Retry-After')) || 0));
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', end);
  }
}

// Rejects when aborted; ends early when the network comes back, if that is what it waits for.
export function pause(wait, signal, early = false) {
  return new Promise((resolve, reject) => {
    const over = new AbortController();
    const end = (how, why) => { clearTimeout(timer); over.abort(); how(why); };
    const timer = setTimeout(end, wait, resolve);
    if (early) addEventListener('online', () => end(resolve), { signal: over.signal });
    signal?.addEventListener('abort', () => end(reject, signal.reason), { signal: over.signal });
    if (signal?.aborted) end(reject, signal.reason);
  });
}

// `tell` hears of every wait: its seconds, and what went wrong.
export async function talk(path, { body, signal, tries = Infinity, tell = () => {} } = {}) {
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted();
    try {
      return await once(path, body, signal);
    } catch (error) {
      if (signal?.aborted || error.final || attempt >= tries) throw error;
      const backoff = Math.min(LONGEST, FIRST * 2 ** (attempt - 1)) * (0.8 + 0.4 * Math.random());
      const wait = Math.max(backoff, error.wait ?? 0);
      tell(Math.ceil(wait / 1000), error);
      await pause(wait, signal, !error.wait);
    }
  }
}

// A source of signals of which only the latest is not aborted: replies that are out of date are dropped.
export function latest() {
  let stop;
  return () => {
    stop?.abort();
    stop = new AbortController();
    return stop.signal;
  };
}

// Draws what a path answers, or says in `note` that it could not be had, with a button where trying again may help.
export async function load(path, { signal, draw, note }) {
  let data;
  try {
    data = await talk(path, { signal, tries: 4 });
  } catch (error) {
    if (signal.aborted) return;
    const again = () => load(path, { signal, draw, note });
    note.replaceChildren(`${error instanceof Refused ? error.message : 'This could not be loaded.'} `,
      error.final ? '' : el('button', { type: 'button', click: again }, 'Try again'));
    return;
  }
  if (signal.aborted) return;
  note.replaceChildren();
  draw(data);
}
