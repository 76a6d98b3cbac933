import type { Run } from "../api/client";

export type RunTree = Pick<Run, "runId" | "parentRunId" | "first">;

/** The runs from the first one to this one. */
export function chainOf<R extends RunTree>(runs: readonly R[], tip: string): R[] {
  const byId = new Map(runs.map((run) => [run.runId, run]));
  const chain: R[] = [];
  for (let run = byId.get(tip); run !== undefined && chain.length <= runs.length; run = byId.get(run.parentRunId ?? "")) chain.unshift(run);
  return chain;
}

/** The end of the branch that a run is on: of those that go on from it, the one that was begun last. */
export function tipFrom<R extends RunTree>(runs: readonly R[], from: string): string {
  let tip = from;
  for (let steps = 0; steps <= runs.length; steps += 1) {
    const next = runs.findLast((run) => run.parentRunId === tip);
    if (next === undefined) break;
    tip = next.runId;
  }
  return tip;
}

/** The runs that others lie beside: those with the same parent, if there is more than one. */
export function forks<R extends RunTree>(runs: readonly R[], chain: readonly R[]): R[][] {
  return chain.map((run) => runs.filter((other) => other.parentRunId === run.parentRunId)).filter((siblings) => siblings.length > 1);
}

/** A row of the graph: one run, and the lines that pass it. */
export interface GraphRow<R> {
  run: R;
  lane: number;
  /** The lane of its parent, and how many rows above that is. */
  parent?: { lane: number; rows: number };
}

/** Runs in the order they were begun, each in a lane: the first to go on from a run stays in its lane, others get one of their own. */
export function graph<R extends RunTree>(runs: readonly R[]): { rows: GraphRow<R>[]; lanes: number } {
  const placed = new Map<string, { lane: number; row: number }>();
  const taken = new Set<string>();
  const rows: GraphRow<R>[] = [];
  let lanes = 0;
  runs.forEach((run, row) => {
    const parent = placed.get(run.parentRunId ?? "");
    const goesOn = parent !== undefined && !taken.has(run.parentRunId ?? "");
    const lane = goesOn ? parent.lane : lanes++;
    taken.add(run.parentRunId ?? "");
    placed.set(run.runId, { lane, row });
    rows.push({ run, lane, ...(parent ? { parent: { lane: parent.lane, rows: row - parent.row } } : {}) });
  });
  return { rows, lanes };
}

/** What a run was asked, as far as branches are told apart by it. */
export interface Asked {
  runId: string;
  /** The messages that it brought along, by id and as text. */
  messages: { id: string; text: string }[];
}

/** Something to choose on a message: one of several runs. */
export interface Choice {
  /** One run of each alternative, the one that is shown among them. */
  runs: string[];
  shown: number;
}

/**
 * Where on a branch one can choose another. Who edits a message asks something else: the choice is on that message. Who asks again gets
 * another answer: the choice is on the first message of the answer.
 */
export function choices(siblings: readonly Asked[], shown: string, order: readonly string[]): Map<string, Choice> {
  const found = new Map<string, Choice>();
  const own = siblings.find((sibling) => sibling.runId === shown);
  if (own === undefined) return found;
  const asked = (sibling: Asked) => JSON.stringify(sibling.messages);
  const questions = [...new Map(siblings.map((sibling) => [asked(sibling), sibling])).keys()];
  const first = own.messages[0];
  if (questions.length > 1 && first !== undefined) {
    const ofEach = questions.map((question) => (question === asked(own) ? own : siblings.findLast((sibling) => asked(sibling) === question)));
    found.set(first.id, { runs: ofEach.map((sibling) => sibling?.runId ?? ""), shown: questions.indexOf(asked(own)) });
  }
  const answers = siblings.filter((sibling) => asked(sibling) === asked(own));
  const last = own.messages.at(-1);
  const answer = last === undefined ? undefined : order[order.indexOf(last.id) + 1];
  if (answers.length > 1 && answer !== undefined && last !== undefined && order.includes(last.id)) {
    found.set(answer, { runs: answers.map((sibling) => sibling.runId), shown: answers.indexOf(own) });
  }
  return found;
}
