import { describe, expect, it } from "vitest";
import { SseParser } from "../api/sse";
import { causes, differences, valueAt } from "./diff";
import { durationOf, familyOf, fits, sizeOf, summaryOf, typeOf } from "./events";
import { rawItems, rawMember } from "./raw";
import { readPlace, writePlace } from "./route";
import { PIXELS_MAX, rowsIn, scale } from "./window";

describe("a stream of server-sent events", () => {
  it("is the same in whatever pieces it comes", () => {
    const text = ': hello\n\nid: 7\ndata: {"a":1}\n\ndata: two\r\ndata:lines\r\n\r\nevent: x\n\ndata: 🙂\n\ndata: unfinished';
    const expected = [{ id: "7", data: '{"a":1}' }, { data: "two\nlines" }, { data: "🙂" }];
    for (let size = 1; size <= text.length; size += 1) {
      const parser = new SseParser();
      const frames = [];
      for (let at = 0; at < text.length; at += size) frames.push(...parser.push(text.slice(at, at + size)));
      expect(frames, String(size)).toEqual(expected);
    }
  });
});

describe("places", () => {
  it("are the same in the address", () => {
    for (const place of [
      { thread: undefined, view: "chat" as const },
      { thread: "a/b ?#%🙂", view: "chat" as const },
      { thread: "t", view: "events" as const, run: "r&1=2", at: 17 },
      { thread: "t", view: "travel" as const, at: 9, from: 0 },
    ]) {
      expect(readPlace(writePlace(place))).toEqual(place);
    }
  });

  it("can be anything that somebody types", () => {
    for (const hash of ["", "#", "#/t/", "#/x", "#/t/%E0%A4%A", "#/t/a/none?at=-1&from=1e9"]) {
      expect(readPlace(hash)).toMatchObject({ view: "chat" });
      expect(readPlace(hash).at).toBeUndefined();
    }
  });
});

describe("states", () => {
  const before = { a: 1, list: [1, 2], gone: true, "x/y~z": { deep: 1 } };
  const after = { a: 2, list: [1, 3, 4], "x/y~z": { deep: 2 }, added: null };

  it("differ where they differ", () => {
    const found = differences(before, after).map(({ path, kind }) => `${kind} ${path}`);
    expect(found.sort()).toEqual(["added /added", "added /list/2", "changed /a", "changed /list/1", "changed /x~1y~0z/deep", "removed /gone"]);
    expect(differences(before, structuredClone(before))).toEqual([]);
    expect(differences({}, [])).toEqual([{ path: "", kind: "changed", before: {}, after: [] }]);
    for (const { path, after: value } of differences(before, after)) expect(valueAt(after, path)).toEqual(value);
  });

  it("are what the last event that touched them made them", () => {
    const events = [
      { offset: 3, event: { type: "STATE_SNAPSHOT", snapshot: { n: 1, same: 0, m: 5 } } },
      { offset: 4, event: { type: "TEXT_MESSAGE_CONTENT" } },
      { offset: 5, event: { type: "STATE_DELTA", delta: [{ op: "replace", path: "/n", value: 2 }] } },
      { offset: 6, event: { type: "STATE_DELTA", delta: [{ op: "replace", path: "/no/such/place", value: 2 }] } },
      { offset: 7, event: { type: "STATE_SNAPSHOT", snapshot: { n: 2, same: 0, m: 5 } } },
    ];
    const changes = differences({ same: 0 }, { n: 2, same: 0, m: 5 });
    expect([...causes({ same: 0 }, events, changes)].sort()).toEqual([
      ["/m", 3],
      ["/n", 5],
    ]);
  });

  it("do not lead into what every object has", () => {
    expect(valueAt({}, "/__proto__/polluted")).toBeUndefined();
    const events = [{ offset: 1, event: { type: "STATE_DELTA", delta: [{ op: "add", path: "/__proto__/polluted", value: 1 }] } }];
    causes({}, events, [{ path: "/polluted", kind: "added" }]);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});

describe("what was written", () => {
  it("is found as it was written", () => {
    const json = '{ "n" : 1.50 ,"s":"a\\"}{,b","event":{"x":[1,{"y":"]"}],"e":1E5} , "z":true}';
    expect(rawMember(json, "n")).toBe("1.50");
    expect(rawMember(json, "s")).toBe('"a\\"}{,b"');
    expect(rawMember(json, "event")).toBe('{"x":[1,{"y":"]"}],"e":1E5}');
    expect(rawMember(json, "z")).toBe("true");
    expect(rawMember(json, "none")).toBeUndefined();
    expect(rawItems('[1.0, "a,]", {"b":[2]} ,null]')).toEqual(["1.0", '"a,]"', '{"b":[2]}', "null"]);
    expect(rawItems("[]")).toEqual([]);
    expect(rawMember("[]", "x")).toBeUndefined();
    expect(rawMember('{"half', "half")).toBeUndefined();
  });
});

describe("records", () => {
  const record = (event: unknown) => ({ offset: 1, time: 0, run: "r1", kind: "event" as const, event });
  it("are told in a line and found again", () => {
    const content = record({ type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "Hello\nthere" });
    expect([typeOf(content), familyOf(typeOf(content)), summaryOf(content)]).toEqual(["TEXT_MESSAGE_CONTENT", "text", "Hello⏎there"]);
    expect(typeOf({ ...record(undefined), text: "garbage" })).toBe("(text)");
    expect(familyOf("VENDOR")).toBe("other");
    const open = { families: new Set<never>(), run: undefined, text: "" };
    expect(fits(content, open)).toBe(true);
    expect(fits(content, { ...open, text: "hELLO" })).toBe(true);
    expect(fits(content, { ...open, run: "r2" })).toBe(false);
    expect(fits(content, { ...open, families: new Set(["tool" as const]) })).toBe(false);
  });
  it("have sizes and times that can be read", () => {
    expect([sizeOf(900), sizeOf(2048), sizeOf(3 << 20)]).toEqual(["900 B", "2.0 KiB", "3.0 MiB"]);
    expect([durationOf(12), durationOf(1500), durationOf(61_000)]).toEqual(["12 ms", "1.5 s", "1 min 1 s"]);
  });
});

describe("a long list", () => {
  it("draws what can be seen", () => {
    expect(rowsIn(0, 100, 10, 1000, 2)).toEqual({ first: 0, end: 12 });
    expect(rowsIn(500, 100, 10, 1000, 2)).toEqual({ first: 48, end: 62 });
    expect(rowsIn(99_999, 100, 10, 1000, 2)).toEqual({ first: 1000, end: 1000 });
    expect(rowsIn(0, 100, 10, 0)).toEqual({ first: 0, end: 0 });
  });
  it("is never higher than browsers can scroll", () => {
    expect(scale(1000, 22, 500)).toEqual({ drawn: 22_000, factor: 1 });
    const { drawn, factor } = scale(10_000_000, 22, 500);
    expect(drawn).toBe(PIXELS_MAX);
    // At the end of the list, the last row is at the end.
    expect((drawn - 500) * factor + 500).toBeCloseTo(220_000_000);
  });
});
