import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { type Block, type Inline, markdown } from "../logic/markdown";

export function Markdown({ text }: { text: string }) {
  // What has not changed is not looked at again, while another message grows.
  return useMemo(() => <div class="md">{markdown(text).map(block)}</div>, [text]);
}

function block(of: Block): ComponentChildren {
  switch (of.kind) {
    case "paragraph":
      return <p>{of.of.map(inline)}</p>;
    case "heading": {
      // The page has its own first headings.
      const Heading = `h${Math.min(6, of.level + 2)}` as "h3";
      return <Heading>{of.of.map(inline)}</Heading>;
    }
    case "code":
      return (
        <pre tabIndex={0} aria-label={of.language ? `Code in ${of.language}` : "Code"}>
          <code>{of.text}</code>
        </pre>
      );
    case "quote":
      return <blockquote>{of.of.map(block)}</blockquote>;
    case "list": {
      const items = of.items.map((item) => <li>{item.length === 1 && item[0]?.kind === "paragraph" ? item[0].of.map(inline) : item.map(block)}</li>);
      return of.ordered ? <ol start={of.start}>{items}</ol> : <ul>{items}</ul>;
    }
    case "table":
      return (
        <div class="scroll-x">
          <table>
            <thead>
              <tr>{of.head.map((cell) => <th>{cell.map(inline)}</th>)}</tr>
            </thead>
            <tbody>
              {of.rows.map((row) => (
                <tr>{row.map((cell) => <td>{cell.map(inline)}</td>)}</tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    case "rule":
      return <hr />;
  }
}

function inline(of: Inline): ComponentChildren {
  switch (of.kind) {
    case "text":
      return of.text;
    case "code":
      return <code>{of.text}</code>;
    case "break":
      return <br />;
    case "strong":
      return <strong>{of.of.map(inline)}</strong>;
    case "em":
      return <em>{of.of.map(inline)}</em>;
    case "del":
      return <del>{of.of.map(inline)}</del>;
    case "link":
      return (
        <a href={of.href} target="_blank" rel="noopener noreferrer nofollow">
          {of.of.map(inline)}
        </a>
      );
  }
}
