// Takes the place of api.js: the same answers, worked out in the browser from model.json. Nothing is sent.

import { Refused, latest, pause } from './api.js';
import { covariances, draws, posterior, probability, questions, scores } from './person.js';
import { passing } from './store.js';

export { Refused, latest, pause };

const INTERVAL = 0.9, FAR = 1.6449, TOP = 3, SURE = 0.8, MOST = 100, DRAWS = 400, AMONG = 5, MOVED = 5;
const DECIDED = ['left', 'right', 'tie'];

const order = (worth) => [...worth.keys()].sort((a, b) => worth[b] - worth[a]);
const places = (worth) => { const made = []; order(worth).forEach((j, n) => { made[j] = n + 1; }); return made; };
const mean = (x) => x.reduce((all, one) => all + one, 0) / x.length;

// What somebody said, as person.js takes it.
const rows = (said) => said.flatMap(({ left, right, reply }) => ({
  left: [[left, right, 1]], right: [[right, left, 1]], tie: [[left, right, 0.5], [right, left, 0.5]],
}[reply] ?? []));

// The range of places whose share is nearest to the interval, as models/places.py has it.
function shortest(drawn) {
  const sorted = [...drawn].sort((a, b) => a - b), n = sorted.length, held = Math.ceil(INTERVAL * n);
  const fullest = (steps) => {
    let best = sorted[0], most = 0;
    for (let from = 0, to = 0; from < n; from++) {
      while (to < n && sorted[to] <= sorted[from] + steps) to++;
      if (to - from > most) [best, most] = [sorted[from], to - from];
    }
    return [best, most];
  };
  let steps = Infinity;
  for (let k = 0; k + held <= n; k++) steps = Math.min(steps, sorted[k + held - 1] - sorted[k]);
  const [[best, most], [later, less]] = [fullest(steps), fullest(steps - 1)];
  const shorter = steps > 0 && INTERVAL * n - less < most - INTERVAL * n;
  return shorter ? [later, later + steps - 1] : [best, Math.min(best + steps, sorted[n - 1])];
}

// How many more answers settle the top: the taste is narrowed by one well-chosen answer after the other.
function settled(person, C, worth, left) {
  const n = worth.length, top = Math.min(TOP, n);
  const first = (row) => {
    const best = [];
    for (let j = 0; j < n; j++) {
      if (best.length === top && row[j] <= row[best[top - 1]]) continue;
      let at = Math.min(best.length, top - 1);
      for (; at > 0 && row[j] > row[best[at - 1]]; at--) best[at] = best[at - 1];
      best[at] = j;
    }
    return best;
  };
  const share = (before, after) => {
    const between = before.map((row, j) => row.map((x, k) => x - after[j][k]));
    const truth = draws(DRAWS, new Array(n).fill(0), after, 3);
    return mean(draws(DRAWS, worth, between, 2).map((estimate, r) => {
      const chosen = first(estimate), right = new Set(first(estimate.map((x, j) => x + truth[r][j])));
      return chosen.filter((j) => right.has(j)).length / top;
    }));
  };
  const now = share(C, C);
  let S = C, more = now >= SURE ? 0 : null;
  const asked = new Set();
  for (let answers = 1, looked = 0; more === null && answers <= Math.min(MOST, left); answers++) {
    const weight = new Array(n).fill(0);
    draws(100, worth, S, 4).forEach((row) => first(row).forEach((j) => { weight[j] += 0.01; }));
    let best = null;
    for (let j = 0; j < n; j++) {
      for (let k = 0; k < j; k++) {
        if (asked.has(j * n + k)) continue;
        const v = Math.max(S[j][j] + S[k][k] - 2 * S[j][k], 0), p = probability(person, S, j, k);
        let held = 0;
        for (let i = 0; i < n; i++) if (weight[i]) held += weight[i] * (S[i][j] - S[i][k]) ** 2;
        const value = held * p * (1 - p) / (1 + p * (1 - p) * v);
        if (!best || value > best.value) best = { j, k, v, p, value };
      }
    }
    const { j, k, v, p } = best, a = p * (1 - p) / Math.sqrt(1 + (Math.PI / 8) * v);
    const x = S.map((row) => row[j] - row[k]);
    asked.add(j * n + k);
    S = S.map((row, i) => row.map((value, l) => value - x[i] * x[l] * (a / (1 + a * v))));
    if (answers <= 10 || answers >= 1.2 * looked) {
      looked = answers;
      if (share(C, S) >= SURE) more = answers;
    }
  }
  return { top, share: now, sure: SURE, more, left };
}

// All that the page asks for, for one visitor; `kept` remembers what they said.
export function desk(model, kept) {
  const every = [...model.items.keys()];
  const item = (j) => ({ id: String(model.items[j]), title: String(model.items[j]) });
  let said = kept.get('said', []), question = kept.get('question', null);
  let known = null; // what follows from `said`
  const person = () => { known ??= posterior(model, rows(said)); return known; };

  const unseen = () => new Set(said.flatMap(({ left, right, reply }) => ({
    'unseen left': [left], 'unseen right': [right], 'unseen both': [left, right],
  }[reply] ?? [])));
  const pair = (j, k) => `${Math.min(j, k)} ${Math.max(j, k)}`;
  const asking = () => {
    const decided = said.filter(({ reply }) => DECIDED.includes(reply));
    const gone = unseen(), done = new Set(decided.map(({ left, right }) => pair(left, right)));
    return (j, k) => !gone.has(j) && !gone.has(k) && !done.has(pair(j, k));
  };
  const pairsLeft = () => {
    const open = asking();
    return every.reduce((all, j) => all + every.filter((k) => k < j && open(j, k)).length, 0);
  };

  function next() {
    const best = questions(model, person(), AMONG, asking());
    const one = best[Math.floor(Math.random() * best.length)];
    if (!one) return null;
    const [left, right] = Math.random() < 0.5 ? [one.left, one.right] : [one.right, one.left];
    return { token: `q${Math.random().toString(36).slice(2)}`, left, right };
  }

  function news(asked = question ?? next()) {
    question = asked;
    kept.set('said', said);
    kept.set('question', question);
    const told = question && { ...question, left: item(question.left), right: item(question.right),
      probability: probability(person(), covariances(person()), question.left, question.right) };
    return { question: told, answered: said.length, repeated: false,
      reason: told ? null : 'You have answered everything there is to ask. Thank you.' };
  }

  function say(more) { said = more; known = null; }

  const does = {
    question: () => news(),
    answer({ token, reply }) {
      if (question?.token !== token) throw new Refused(404, 'There is no such question of yours.', 0);
      say([...said, { ...question, reply }]);
      return news(next());
    },
    undo({ token }) {
      const last = said.find((one) => one.token === token);
      if (!last) throw new Refused(404, 'There is no such answer of yours.', 0);
      say(said.filter((one) => one !== last));
      return news({ token: `${token}.`, left: last.left, right: last.right });
    },
    answers() {
      let n = 0;
      const told = said.map(({ token, left, right, reply }) => {
        const own = rows([{ left, right, reply }]).length;
        n += own;
        const probability = own === 1 ? person().alone[n - 1] : null;
        return { token, reply, left: item(left), right: item(right), probability };
      });
      return { answers: told.reverse() };
    },
    ranking({ who, limit }) {
      const about = { interval: INTERVAL, top_of: Math.min(TOP, every.length), of: every.length, settled: null };
      if (who === 'everyone') {
        const unknown = { best: null, worst: null, top: null, group: null };
        const list = order(scores(model, model.typical)).slice(0, limit);
        return { ...about, answered: 0, rows: list.map((j, n) => ({ place: n + 1, ...unknown, item: item(j) })) };
      }
      const { worth } = person(), C = covariances(person()), drawn = draws(DRAWS, worth, C), placed = drawn.map(places);
      let group = 1, leader = null;
      const told = order(worth).slice(0, limit).map((j, n) => {
        const [best, worst] = shortest(placed.map((row) => row[j]));
        leader ??= j;
        if (mean(drawn.map((row) => row[leader] > row[j])) >= INTERVAL) [leader, group] = [j, group + 1];
        const top = mean(placed.map((row) => row[j] <= TOP));
        return { place: n + 1, best, worst, top, group, item: item(j) };
      });
      return { ...about, answered: said.length, rows: told, settled: settled(person(), C, worth, pairsLeft()) };
    },
    difference({ limit }) {
      const { Z, S, mean: centre, fresh } = person(), n = Z.length;
      const middle = Array.from(Z[0], (_, c) => mean(Z.map((z) => z[c])));
      const own = mean(fresh) / n;
      const told = Z.map((z, j) => {
        const row = z.map((x, c) => x - middle[c]);
        const much = row.reduce((all, x, c) => all + x * centre[c], 0);
        const variance = row.reduce((all, x, c) => all + x * row.reduce((sum, y, d) => sum + y * S[c][d], 0), 0);
        const far = FAR * Math.sqrt(variance + fresh[j] * (1 - 2 / n) + own);
        return { item: item(j), difference: much, low: much - far, high: much + far, certain: Math.abs(much) / far };
      }).filter(({ certain }) => certain > 1).sort((a, b) => b.certain - a.certain);
      return { rows: told.slice(0, limit), interval: INTERVAL, answered: said.length };
    },
    crowd({ limit }) {
      const { Z, worth } = posterior(model, []), middle = mean(worth);
      const told = Z.map((z, j) => ({ item: item(j), mean: worth[j] - middle, spread: Math.hypot(...z) }))
        .sort((a, b) => b.spread - a.spread);
      const most = Math.min(limit, Math.floor(told.length / 2));
      return { divides: told.slice(0, most), unites: told.reverse().slice(0, most) };
    },
    map() {
      const { Z, S, mean: [x, y], q } = person();
      if (q < 2) return { items: [], me: null, crowd: null, answered: said.length };
      return {
        items: Z.map((z, j) => ({ item: item(j), x: z[0], y: z[1] })), answered: said.length,
        me: { x, y, sxx: S[0][0], sxy: S[0][1], syy: S[1][1] }, crowd: { x: 0, y: 0, sxx: 1, sxy: 0, syy: 1 },
      };
    },
    whatif() {
      const before = places(person().worth);
      const moved = (reply) => {
        const after = places(posterior(model, rows([...said, { ...question, reply }])).worth);
        const far = (j) => Math.abs(Math.log(after[j] / before[j]));
        return every.filter((j) => after[j] !== before[j]).sort((a, b) => far(b) - far(a)).slice(0, MOVED)
          .sort((a, b) => after[a] - after[b]).map((j) => ({ item: item(j), from: before[j], to: after[j] }));
      };
      return { token: question.token, left: moved('left'), right: moved('right') };
    },
    about: () => {
      const { title, users: people, answers } = model;
      return { title, items: every.length, people, answers, collecting: null };
    },
  };

  return (path, body) => {
    const { pathname, searchParams } = new URL(path, 'http://here');
    const { limit = Infinity, ...rest } = Object.fromEntries(searchParams);
    return does[pathname.split('/').pop()]({ limit: Number(limit), ...rest, ...body });
  };
}

let ready = null;

export async function talk(path, { body, signal } = {}) {
  ready ??= fetch(new URL('model.json', import.meta.url)).then((reply) => reply.json())
    .then((model) => desk(model, passing));
  const answer = await ready;
  signal?.throwIfAborted();
  return answer(path, body);
}

export async function load(path, { signal, draw, note }) {
  const data = await talk(path, { signal }).catch((error) => error);
  if (signal.aborted) return;
  note.replaceChildren(data instanceof Error ? data.message : '');
  if (!(data instanceof Error)) draw(data);
}
