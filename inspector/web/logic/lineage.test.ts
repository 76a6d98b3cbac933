import { describe, expect, it } from "vitest";
import { type Asked, chainOf, choices, forks, graph, tipFrom } from "./lineage";

const run = (runId: string, parentRunId: string | null, first = 0) => ({ runId, parentRunId, first });
// r1 - r2 - r4
//    \ r3 - r5
const RUNS = [run("r1", null), run("r2", "r1"), run("r3", "r1"), run("r4", "r2"), run("r5", "r3")];
const ids = (runs: { runId: string }[]) => runs.map(({ runId }) => runId);

describe("lineage", () => {
  it("finds branches", () => {
    expect(ids(chainOf(RUNS, "r5"))).toEqual(["r1", "r3", "r5"]);
    expect(chainOf(RUNS, "none")).toEqual([]);
    expect(tipFrom(RUNS, "r2")).toBe("r4");
    expect(tipFrom(RUNS, "r1")).toBe("r5");
    expect(forks(RUNS, chainOf(RUNS, "r5")).map(ids)).toEqual([["r2", "r3"]]);
    expect(forks([run("a", null), run("b", null)], [run("a", null)]).map(ids)).toEqual([["a", "b"]]);
  });

  it("does not go round in circles", () => {
    const circle = [run("a", "b"), run("b", "a")];
    expect(chainOf(circle, "a").length).toBeLessThanOrEqual(3);
    expect(typeof tipFrom(circle, "a")).toBe("string");
  });

  it("draws the first that goes on in the lane of its parent", () => {
    const { rows, lanes } = graph(RUNS);
    expect(lanes).toBe(2);
    expect(rows.map(({ lane }) => lane)).toEqual([0, 0, 1, 0, 1]);
    expect(rows[2]?.parent).toEqual({ lane: 0, rows: 2 });
  });

  const asked = (runId: string, ...messages: [string, string][]): Asked => ({ runId, messages: messages.map(([id, text]) => ({ id, text })) });

  it("puts the choice of an edit on the message that was edited", () => {
    const siblings = [asked("r1", ["u1", "one"]), asked("r2", ["u1", "other"])];
    expect([...choices(siblings, "r2", ["u1", "a2"])]).toEqual([["u1", { runs: ["r1", "r2"], shown: 1 }]]);
  });

  it("puts the choice of another answer on the answer", () => {
    const siblings = [asked("r1", ["u1", "one"]), asked("r2", ["u1", "one"])];
    expect([...choices(siblings, "r1", ["u1", "a1"])]).toEqual([["a1", { runs: ["r1", "r2"], shown: 0 }]]);
  });

  it("has both where both were done", () => {
    const siblings = [asked("r1", ["u1", "one"]), asked("r2", ["u1", "one"]), asked("r3", ["u1", "other"])];
    expect([...choices(siblings, "r1", ["u1", "a1"])]).toEqual([
      ["u1", { runs: ["r1", "r3"], shown: 0 }],
      ["a1", { runs: ["r1", "r2"], shown: 0 }],
    ]);
    expect([...choices(siblings, "r3", ["u1", "a3"])]).toEqual([["u1", { runs: ["r2", "r3"], shown: 1 }]]);
  });
});
