// Numbers and sentences the way people say them.

const WORDS = 'no one two three four five six seven eight nine ten eleven twelve'.split(' ');

export const figure = (n) => n.toLocaleString('en-GB');
export const number = (n) => WORDS[n] ?? figure(n);
export const count = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
export const places = (best, worst) => (best === worst ? figure(best) : `${figure(best)}–${figure(worst)}`);
export const placesAloud = (best, worst) =>
  best === worst ? `place ${best}` : `between places ${best} and ${worst}`;

export function percent(share) {
  if (share > 0 && share < 0.01) return '<\u00a01\u00a0%';
  if (share < 1 && share > 0.99) return '>\u00a099\u00a0%';
  return `${Math.round(100 * share)}\u00a0%`;
}

export const several = (texts) =>
  texts.length < 2 ? texts.join('') : `${texts.slice(0, -1).join(', ')} and ${texts[texts.length - 1]}`;

const MANY = 100; // more answers than that are not counted
const OPEN = 0.5; // of the top, known: with less of it, how many more it takes is no comfort

export function sureness({ top, share, sure, more, left }) {
  const best = top === 1 ? 'favourite' : `top ${number(top)}`;
  if (more === 0 || share >= sure) return `Your ${best} ${top === 1 ? 'is' : 'are'} settled.`;
  if (more === null && left < MANY) {
    return left ? `The ${count(left, 'pair')} left may not settle your ${best}.` : `All pairs leave your ${best} open.`;
  }
  if (more === null && share < OPEN) return `Your ${best} ${top === 1 ? 'is' : 'are'} still wide open.`;
  return `${more === null ? 'Many' : capital(number(more))} more ${more === 1 ? 'settles' : 'settle'} your ${best}.`;
}

export function collected({ answers, needed, people, people_needed: few }) {
  const alone = 'until then a list goes by one’s own alone.';
  if (answers >= needed && people >= few) return `There are enough answers, and the first model is being fitted: ${alone}`;
  const so = `${figure(Math.min(answers, needed))} of ${figure(needed)}`;
  return `Still collecting, ${so} answers by ${figure(Math.min(people, few))} of ${figure(few)} people: ${alone}`;
}
