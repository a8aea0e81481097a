// What the page makes of sequences of answers, one document each: node visitors.mjs FOLDER < SEQUENCES
import { readFileSync } from 'node:fs';

const [folder] = process.argv.slice(2);
const { posterior, questions, scores, vector } = await import(`${folder}/person.js`);
const { desk } = await import(`${folder}/local.js`);
const model = JSON.parse(readFileSync(`${folder}/model.json`));

const kept = (said) => ({ get: (key, otherwise) => (key === 'said' ? said : otherwise), set() {} });

console.log(JSON.stringify(JSON.parse(readFileSync(0)).map((said) => {
  const answers = said.flatMap(({ left, right, reply }) => ({
    left: [[left, right, 1]], right: [[right, left, 1]], tie: [[left, right, 0.5], [right, left, 0.5]],
  }[reply]));
  const ask = desk(model, kept(said.map((one, n) => ({ ...one, token: `${n}` }))));
  const u = vector(model, answers), person = posterior(model, answers);
  return {
    vector: u, scores: scores(model, u), worth: [...person.worth], alone: person.alone,
    asked: ask('/api/question', {}).question, best: questions(model, person, 5, (j, k) => !said.some((one) =>
      Math.min(one.left, one.right) === j && Math.max(one.left, one.right) === k)),
    ranking: ask('/api/ranking?who=me&limit=500'), everyone: ask('/api/ranking?who=everyone&limit=3'),
    difference: ask('/api/difference?limit=10'), crowd: ask('/api/crowd?limit=3'), map: ask('/api/map'),
    whatif: ask('/api/whatif'), answers: ask('/api/answers'), about: ask('/api/about'),
  };
})));
