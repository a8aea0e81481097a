// One person in JavaScript: their vector, what is known of their taste, and what to ask them next, from the document
// that `model.to_json(path)` writes. Items are numbers: places in `model.items`. An answer is [winner, loser, count];
// a tie is two of them, one each way, with the count 0.5.

const sum = (x) => x.reduce((all, one) => all + one, 0);
const dot = (x, y) => { let all = 0; for (let k = 0; k < x.length; k++) all += x[k] * y[k]; return all; };
const minus = (x, y) => x.map((value, k) => value - y[k]);
const times = (A, x) => A.map((row) => dot(row, x));
const zeros = (n, m) => Array.from({ length: n }, () => new Float64Array(m));
const sigmoid = (x) => 1 / (1 + Math.exp(-x));

// The lower L with L L' = A; directions that A leaves out are zero.
function cholesky(A) {
  const L = zeros(A.length, A.length);
  for (let i = 0; i < A.length; i++) {
    for (let j = 0; j <= i; j++) {
      let rest = A[i][j];
      for (let k = 0; k < j; k++) rest -= L[i][k] * L[j][k];
      L[i][j] = i === j ? Math.sqrt(rest > 1e-10 ? rest : 0) : L[j][j] && rest / L[j][j];
    }
  }
  return L;
}

function inverse(A) { // of a positive definite matrix
  const L = cholesky(A), n = A.length, made = zeros(n, n);
  for (let c = 0; c < n; c++) {
    const x = made[c];
    for (let i = c; i < n; i++) {
      let rest = i === c ? 1 : 0;
      for (let k = c; k < i; k++) rest -= L[i][k] * x[k];
      x[i] = rest / L[i][i];
    }
    for (let i = n - 1; i >= 0; i--) {
      let rest = x[i];
      for (let k = i + 1; k < n; k++) rest -= L[k][i] * x[k];
      x[i] = rest / L[i][i];
    }
  }
  return made;
}

// ridge I + the sum of c x x', for the rows x.
function precision(rows, c, size, ridge = 1) {
  const H = zeros(size, size);
  rows.forEach((x, t) => {
    for (let i = 0; i < size; i++) if (x[i]) for (let j = 0; j < size; j++) H[i][j] += c[t] * x[i] * x[j];
  });
  for (let i = 0; i < size; i++) H[i][i] += ridge;
  return H;
}

// -- the vector that `fold_in` gives -------------------------------------------------------------------------------

// Value, slope and curvature at a margin. The hinge is smoothed over `delta`, which becomes smaller.
const LOSSES = {
  squared_hinge: (x) => { const t = Math.max(0, 1 - x); return [t * t, -2 * t, t > 0 ? 2 : 0]; },
  logistic: (x) => {
    const s = sigmoid(-Math.abs(x)), p = sigmoid(-x);
    return [Math.max(-x, 0) + Math.log1p(Math.exp(-Math.abs(x))), -p, s * (1 - s)];
  },
  hinge: (x, delta) => {
    const t = Math.max(0, 1 - x), s = Math.min(t / delta, 1);
    return [s * (t - 0.5 * delta * s), -s, t > 0 && t < delta ? 1 / delta : 0];
  },
};

export function vector(model, answers) {
  if (!answers.length) return model.typical;
  const { item_factors: V, item_bias: b, user_rule: rule } = model;
  const rows = answers.map(([j, k]) => minus(V[j], V[k])), ahead = answers.map(([j, k]) => b[j] - b[k]);
  const items = new Set(answers.flatMap(([j, k]) => [j, k])).size;
  const ridge = model.reg * (items / rule.typical) ** rule.power;
  const weight = sum(answers.map(([, , count]) => count)) ** -rule.balance;
  let u = new Array(V[0].length).fill(0);
  for (const delta of model.loss === 'hinge' ? [1, 2 ** -2, 2 ** -4, 2 ** -6, 2 ** -8, 2 ** -10] : [0]) {
    const at = (w) => answers.map(([, , count], t) =>
      LOSSES[model.loss](dot(rows[t], w) + ahead[t], delta).map((x) => weight * count * x));
    const worth = (w) => sum(at(w).map(([value]) => value)) + 0.5 * ridge * dot(w, w);
    for (let round = 0; round < 50; round++) {
      const now = at(u);
      const down = u.map((x, i) => -ridge * x - sum(now.map(([, slope], t) => slope * rows[t][i])));
      const step = times(inverse(precision(rows, now.map(([, , bend]) => bend), u.length, ridge)), down);
      let far = 1;
      const from = worth(u), to = () => u.map((x, i) => x + far * step[i]);
      while (far > 1e-6 && worth(to()) > from - 1e-4 * far * dot(step, down)) far /= 2;
      u = to();
      if (dot(step, down) < 1e-16 * (1 + from)) break;
    }
  }
  return u;
}

export const scores = (model, u) => model.item_factors.map((v, j) => dot(v, u) + model.item_bias[j]);

// -- what is known of a person: a normal distribution of what items are worth to them, in log-odds ----------------------

const averaged = (mean, variance) => mean / Math.sqrt(1 + (Math.PI / 8) * variance);

function curved(mean, variance) {
  const p = sigmoid(averaged(mean, variance));
  return averaged(p * (1 - p), variance);
}

// The normal distribution nearest to the posterior, as models/belief.py and solving/variational.py have it.
export function posterior(model, answers) {
  const { mean: centre, spread, taste, bias, noise } = model.people;
  const q = spread[0].length;
  const asked = [...new Set(answers.flatMap(([j, k]) => [j, k]))];
  const place = new Map(asked.map((item, n) => [item, q + n]));
  const size = q + asked.length;
  const Z = model.item_factors.map((v, j) => { // tastes, then the own likings of what was asked about
    const row = new Float64Array(size);
    for (let c = 0; c < q; c++) row[c] = taste * sum(v.map((x, i) => x * spread[i][c]));
    if (place.has(j)) row[place.get(j)] = Math.sqrt(noise[j]);
    return row;
  });
  const offset = model.item_factors.map((v, j) => bias * model.item_bias[j] + taste * dot(v, centre));
  const X = answers.map(([j, k]) => minus(Z[j], Z[k])), ahead = answers.map(([j, k]) => offset[j] - offset[k]);
  const count = answers.map((answer) => answer[2]);
  let mean = new Float64Array(size), mu = ahead, v = X.map((x) => dot(x, x)), bend = null;
  let S = precision([], [], size);
  for (let round = 0; round < 60 && X.length; round++) {
    const now = mu.map((m, t) => curved(m, v[t]));
    bend = bend ? now.map((c, t) => 0.5 * c + 0.5 * bend[t]) : now;
    S = inverse(precision(X, bend.map((c, t) => c * count[t]), size));
    const pull = mu.map((m, t) => count[t] * sigmoid(-averaged(m, v[t])));
    const step = times(S, mean.map((x, i) => sum(pull.map((p, t) => p * X[t][i])) - x));
    const far = Math.max(1e-9, ...X.map((x, t) => Math.abs(averaged(dot(x, step), v[t]))));
    mean = mean.map((x, i) => x + (Math.log1p(far) / far) * step[i]);
    const before = [mu, v];
    mu = X.map((x, t) => dot(x, mean) + ahead[t]);
    v = X.map((x) => dot(x, times(S, x)));
    const moved = mu.flatMap((m, t) => [m - before[0][t], Math.sqrt(v[t]) - Math.sqrt(before[1][t])]);
    if (Math.max(...moved.map(Math.abs)) <= 1e-4 * (1 + Math.max(...mu.map(Math.abs)))) break;
  }
  const fresh = noise.map((e, j) => (place.has(j) ? 0 : e));
  const worth = offset.map((x, j) => x + dot(Z[j], mean));
  const others = v.map((x, t) => x / Math.max(1 - count[t] * bend[t] * x, 1e-3)); // without the answer itself
  const alone = mu.map((m, t) => sigmoid(averaged(m - others[t] * count[t] * sigmoid(-averaged(m, v[t])), others[t])));
  return { Z, S, mean, worth, fresh, noise, q, alone };
}

// What rows have in common, given the covariance S of their columns.
const covariance = (Z, S) => { const ZS = Z.map((z) => times(S, z)); return ZS.map((x) => Z.map((z) => dot(x, z))); };

export function covariances({ Z, S, fresh }) {
  const C = covariance(Z, S);
  C.forEach((row, j) => { row[j] += fresh[j]; });
  return C;
}

const apart = (C, j, k) => Math.max(C[j][j] + C[k][k] - 2 * C[j][k], 0);

export const probability = ({ worth }, C, j, k) => sigmoid(averaged(worth[j] - worth[k], apart(C, j, k)));

// Standard normal numbers, the same every time: made once for a seed and a length.
const made = new Map();

function normals(n, seed) {
  const key = `${n} ${seed}`;
  if (made.has(key)) return made.get(key);
  let state = seed;
  const uniform = () => { // mulberry32, by T. Ettinger
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 4294967296;
  };
  made.set(key, Float64Array.from({ length: n }, () =>
    Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform())));
  return made.get(key);
}

export function draws(n, mean, C, seed = 1) {
  const L = cholesky(C), e = normals(n * mean.length, seed);
  return Array.from({ length: n }, (_, r) =>
    mean.map((m, j) => { let x = m; for (let k = 0; k <= j; k++) x += L[j][k] * e[r * mean.length + k]; return x; }));
}

// -- what to ask ---------------------------------------------------------------------------------------------------

function normalCdf(x) { // to 1e-7: M. Abramowitz and I. Stegun, Handbook of Mathematical Functions, 7.1.26
  const t = 1 / (1 + 0.3275911 * Math.abs(x) * Math.SQRT1_2);
  const tail = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t *
    Math.exp(-x * x / 2);
  return x < 0 ? tail / 2 : 1 - tail / 2;
}

// Bits that an answer tells of tastes, in the closed form at the head of models/information.py.
function information(m, v, e) {
  const q = 1 / (1 + (Math.PI / 8) * e), bend = Math.sqrt((Math.PI * Math.LN2) / 2);
  const mean = Math.sqrt((Math.PI / 8) * q) * m, variance = (Math.PI / 8) * q * v;
  const p = normalCdf(mean / Math.sqrt(1 + variance));
  const entropy = -[p, 1 - p].reduce((all, x) => all + (x > 0 ? x * Math.log2(x) : 0), 0);
  const stays = bend / Math.sqrt(variance + bend ** 2) * Math.exp(-(mean ** 2) / (2 * (variance + bend ** 2)));
  return Math.max(entropy - stays, 0);
}

// The n most informative pairs of items that are not left out, the most informative first; `open(j, k)` says which may
// be asked. Pairs that more people know count for more.
export function questions(model, person, n, open = () => true) {
  const { Z, S, q, worth } = person;
  const C = covariances(person);
  const across = Z.map((z) => times(S.slice(0, q), z)); // with tastes
  const byTaste = covariance(across, inverse(S.slice(0, q).map((row) => row.slice(0, q))));
  const made = [];
  for (let j = 0; j < worth.length; j++) {
    for (let k = j + 1; k < worth.length; k++) {
      if (!open(j, k)) continue;
      const v = apart(C, j, k), taste = apart(byTaste, j, k);
      const bits = information(worth[j] - worth[k], taste, Math.max(v - taste, 0));
      made.push({ left: j, right: k, bits, value: bits * (1 + model.met[j]) * (1 + model.met[k]) });
    }
  }
  return made.sort((a, b) => b.value - a.value).slice(0, n);
}
