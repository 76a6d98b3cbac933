/**
 * The markdown that agents write, as a tree. There is no way from here to markup: what is no mark is text, and of links only those are
 * links that lead to a web page or to mail.
 */
export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "break" }
  | { kind: "strong" | "em" | "del"; of: Inline[] }
  | { kind: "link"; href: string; of: Inline[] };

export type Block =
  | { kind: "paragraph"; of: Inline[] }
  | { kind: "heading"; level: number; of: Inline[] }
  | { kind: "code"; language: string; text: string }
  | { kind: "quote"; of: Block[] }
  | { kind: "list"; ordered: boolean; start: number; items: Block[][] }
  | { kind: "table"; head: Inline[][]; rows: Inline[][][] }
  | { kind: "rule" };

/** Quotes and lists within each other, no deeper than anybody can read. */
const DEPTH_MAX = 8;

export function markdown(text: string): Block[] {
  return blocks(text.replaceAll("\r\n", "\n").split("\n"), 0);
}

const FENCE = /^ {0,3}(```+|~~~+)\s*([^\s`]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(\s+|$)/;
const QUOTE = /^ {0,3}> ?/;
const DIVIDER = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

function blocks(lines: string[], depth: number): Block[] {
  const found: Block[] = [];
  let at = 0;
  const line = () => lines[at] ?? "";
  while (at < lines.length) {
    const fence = FENCE.exec(line());
    const heading = HEADING.exec(line());
    if (line().trim() === "") {
      at += 1;
    } else if (fence) {
      const [, mark = "", language = ""] = fence;
      const end = lines.findIndex((other, place) => place > at && other.trim().startsWith(mark) && other.trim().replaceAll(mark[0] ?? "", "") === "");
      const stop = end < 0 ? lines.length : end;
      found.push({ kind: "code", language, text: lines.slice(at + 1, stop).join("\n") });
      at = stop + 1;
    } else if (heading) {
      found.push({ kind: "heading", level: heading[1]?.length ?? 1, of: inline(heading[2] ?? "") });
      at += 1;
    } else if (RULE.test(line())) {
      found.push({ kind: "rule" });
      at += 1;
    } else if (QUOTE.test(line()) && depth < DEPTH_MAX) {
      const quoted: string[] = [];
      while (at < lines.length && QUOTE.test(line())) {
        quoted.push(line().replace(QUOTE, ""));
        at += 1;
      }
      found.push({ kind: "quote", of: blocks(quoted, depth + 1) });
    } else if (ITEM.test(line()) && depth < DEPTH_MAX) {
      const [list, next] = readList(lines, at, depth);
      found.push(list);
      at = next;
    } else if (line().includes("|") && DIVIDER.test(lines[at + 1] ?? "") && (lines[at + 1] ?? "").includes("-")) {
      const rows: string[] = [];
      const head = line();
      for (at += 2; at < lines.length && line().includes("|"); at += 1) rows.push(line());
      found.push({ kind: "table", head: cells(head), rows: rows.map(cells) });
    } else {
      const first = at;
      at += 1;
      while (at < lines.length && line().trim() !== "" && ![FENCE, HEADING, RULE, QUOTE, ITEM].some((mark) => mark.test(line()))) at += 1;
      found.push({ kind: "paragraph", of: inline(lines.slice(first, at).join("\n")) });
    }
  }
  return found;
}

function readList(lines: string[], from: number, depth: number): [Block, number] {
  const first = ITEM.exec(lines[from] ?? "")?.[2] ?? "-";
  const ordered = /\d/.test(first);
  const items: Block[][] = [];
  let at = from;
  while (at < lines.length) {
    const mark = ITEM.exec(lines[at] ?? "");
    if (!mark || /\d/.test(mark[2] ?? "") !== ordered) break;
    const indent = Math.min(mark[0].length, (mark[1]?.length ?? 0) + (mark[2]?.length ?? 1) + 4);
    const own = [(lines[at] ?? "").slice(mark[0].length)];
    for (at += 1; at < lines.length; at += 1) {
      const line = lines[at] ?? "";
      const inside = line.trim() === "" ? /^\s{2,}\S/.test(lines[at + 1] ?? "") : /^\s{2,}/.test(line);
      if (inside) own.push(line.slice(Math.min(indent, line.length - line.trimStart().length)));
      else if (line.trim() === "" || ITEM.test(line) || [FENCE, HEADING, RULE, QUOTE].some((other) => other.test(line))) break;
      else own.push(line);
    }
    items.push(blocks(own, depth + 1));
    // A list goes on behind an empty line.
    if ((lines[at] ?? "").trim() === "" && ITEM.test(lines[at + 1] ?? "")) at += 1;
  }
  return [{ kind: "list", ordered, start: Number.parseInt(first, 10) || 1, items }, at];
}

const cells = (row: string): Inline[][] =>
  row
    .trim()
    .replace(/^\||\|$/g, "")
    .split("|")
    .map((cell) => inline(cell.trim()));

const MARKS: [RegExp, (match: RegExpExecArray, depth: number) => Inline | undefined][] = [
  [/^(`+)([^]*?[^`])\1(?!`)/, (match) => ({ kind: "code", text: (match[2] ?? "").replace(/^ (.*) $/, "$1") })],
  [/^(\*\*|__)(?=\S)([^]*?\S)\1/, (match, depth) => ({ kind: "strong", of: inline(match[2] ?? "", depth) })],
  [/^~~(?=\S)([^]*?\S)~~/, (match, depth) => ({ kind: "del", of: inline(match[1] ?? "", depth) })],
  [/^\*(?=\S)([^*]*?[^\s*])\*(?!\*)/, (match, depth) => ({ kind: "em", of: inline(match[1] ?? "", depth) })],
  [/^_(?=\S)([^_]*?[^\s_])_(?![\w_])/, (match, depth) => ({ kind: "em", of: inline(match[1] ?? "", depth) })],
  [/^\[([^\]]{1,1000})\]\(\s*<?([^\s)>]{1,2000})>?(?:\s+"[^"]*")?\s*\)/, (match, depth) => link(match[2] ?? "", inline(match[1] ?? "", depth))],
  [/^<(https?:\/\/[^\s<>]{1,2000})>/, (match) => link(match[1] ?? "", [{ kind: "text", text: match[1] ?? "" }])],
  [/^https?:\/\/[^\s<>"'`]{1,2000}[^\s<>"'`.,;:!?)\]}]/, (match) => link(match[0], [{ kind: "text", text: match[0] }])],
  [/^(?: {2,}|\\)\n/, () => ({ kind: "break" })],
];

/** Only what can be a mark is looked at: plain text is passed over in one go. */
const PLAIN = /^[^`*_~[<h\\\n ]+|^[ \n](?=[^ \n]|$)/;

export function inline(text: string, depth = 0): Inline[] {
  const found: Inline[] = [];
  let plain = "";
  let rest = text;
  let before = "";
  const take = (length: number) => {
    plain += rest.slice(0, length);
    before = rest[length - 1] ?? before;
    rest = rest.slice(length);
  };
  while (rest !== "") {
    const skip = PLAIN.exec(rest)?.[0].length ?? 0;
    if (skip > 0) {
      take(skip);
      continue;
    }
    const escaped = /^\\[!-/:-@[-`{-~]/.test(rest);
    if (escaped) {
      rest = rest.slice(1);
      take(1);
      continue;
    }
    // A mark within a word is none: snake_case, and addresses in the middle of something.
    const within = /[\p{L}\p{N}]/u.test(before) && /^[_h]/.test(rest);
    const hit = within || depth >= DEPTH_MAX ? undefined : firstMark(rest, depth);
    if (hit === undefined) {
      take(1);
      continue;
    }
    if (plain !== "") found.push({ kind: "text", text: plain });
    plain = "";
    found.push(hit.mark);
    before = " ";
    rest = rest.slice(hit.length);
  }
  if (plain !== "") found.push({ kind: "text", text: plain });
  return found;
}

function firstMark(rest: string, depth: number): { mark: Inline; length: number } | undefined {
  for (const [pattern, make] of MARKS) {
    const match = pattern.exec(rest);
    const mark = match && make(match, depth + 1);
    if (match && mark) return { mark, length: match[0].length };
  }
  return undefined;
}

/** Links lead to web pages or to mail; everything else is what it looks like. */
function link(href: string, of: Inline[]): Inline | undefined {
  let url: URL;
  try {
    url = new URL(href);
  } catch {
    return undefined;
  }
  return ["http:", "https:", "mailto:"].includes(url.protocol) ? { kind: "link", href: url.href, of } : undefined;
}
