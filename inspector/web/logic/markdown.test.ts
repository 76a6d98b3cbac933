import { describe, expect, it } from "vitest";
import { type Inline, inline, markdown } from "./markdown";

const plain = (of: Inline[]): string => of.map((part) => ("of" in part ? plain(part.of) : part.kind === "break" ? "\n" : part.text)).join("");
const links = (of: Inline[]): string[] => of.flatMap((part) => ("of" in part ? [...(part.kind === "link" ? [part.href] : []), ...links(part.of)] : []));

describe("markdown", () => {
  it("knows the marks that agents use", () => {
    const kinds = markdown("# Title\n\nSome *text* and **more**\n\n- one\n- two\n  - inner\n\n1. a\n2. b\n\n> said\n\n```rust\nfn main() {}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n---");
    expect(kinds.map((block) => block.kind)).toEqual(["heading", "paragraph", "list", "list", "quote", "code", "table", "rule"]);
    expect(kinds[2]).toMatchObject({ ordered: false, items: [{ length: 1 }, { length: 2 }] });
    expect(kinds[5]).toEqual({ kind: "code", language: "rust", text: "fn main() {}" });
  });

  it("takes code as it is, also when its end has not come yet", () => {
    expect(markdown("```\n**not bold**\n<b>")).toEqual([{ kind: "code", language: "", text: "**not bold**\n<b>" }]);
    expect(inline("`a*b*c` ``x`y``")).toEqual([
      { kind: "code", text: "a*b*c" },
      { kind: "text", text: " " },
      { kind: "code", text: "x`y" },
    ]);
  });

  it("leaves alone what is no mark", () => {
    for (const text of ["snake_case_name", "2 * 3 * 4", "a < b > c", "<script>alert(1)</script>", "[x] y", "**", "half *open", "C:\\dir"]) {
      expect(plain(inline(text)), text).toBe(text.replace("C:\\dir", "C:\\dir"));
      expect(inline(text).every((part) => part.kind === "text"), text).toBe(true);
    }
  });

  it("links to pages and to mail, and nowhere else", () => {
    expect(links(inline("[a](https://example.org/x) https://example.org/y. <http://h/> [m](mailto:a@b.c)"))).toEqual([
      "https://example.org/x",
      "https://example.org/y",
      "http://h/",
      "mailto:a@b.c",
    ]);
    for (const href of ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x", "//evil", "/x", "java\nscript:x", "blob:x", "file:///etc"]) {
      expect(links(inline(`[x](${href})`)), href).toEqual([]);
    }
  });

  it("comes to an end quickly, whatever it is given", () => {
    const started = performance.now();
    for (const piece of ["*", "_", "`", "[", "**a", "> ", "- ", "|-", "~~", "![", "<h", "http", "\\", "1. "]) {
      markdown(piece.repeat(5_000));
      markdown(`${piece}\n`.repeat(2_000));
    }
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});
