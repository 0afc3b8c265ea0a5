import "./markdown.css";

import { lexer, type Token, type Tokens } from "marked";
import { Fragment, type ReactNode } from "react";

import { Code } from "./code";

/** Markdown as elements: the text of a model is never given to the browser as HTML. */
export default function Markdown({ text }: { text: string }) {
  return <div className="markdown">{blocks(lexer(text))}</div>;
}

const blocks = (tokens: Token[]): ReactNode[] => tokens.map((token, key) => <Fragment key={key}>{block(token)}</Fragment>);
const inlines = (tokens: Token[] | undefined): ReactNode[] =>
  (tokens ?? []).map((token, key) => <Fragment key={key}>{inline(token)}</Fragment>);

function block(token: Token): ReactNode {
  const render = BLOCKS[token.type];
  return render ? render(token) : inline(token);
}

const BLOCKS: Record<string, (token: Token) => ReactNode> = {
  space: () => null,
  paragraph: (token) => <p>{inlines((token as Tokens.Paragraph).tokens)}</p>,
  heading: (token) => <p className={`markdown-h${(token as Tokens.Heading).depth}`}>{inlines((token as Tokens.Heading).tokens)}</p>,
  code: (token) => <Code text={(token as Tokens.Code).text} />,
  blockquote: (token) => <blockquote>{blocks((token as Tokens.Blockquote).tokens)}</blockquote>,
  hr: () => <hr />,
  list: (token) => list(token as Tokens.List),
  table: (token) => table(token as Tokens.Table),
  html: (token) => <p>{token.raw}</p>,
};

function list(token: Tokens.List): ReactNode {
  const items = token.items.map((item, key) => <li key={key}>{blocks(item.tokens)}</li>);
  return token.ordered ? <ol start={token.start === "" ? undefined : token.start}>{items}</ol> : <ul>{items}</ul>;
}

function table(token: Tokens.Table): ReactNode {
  return (
    <div className="table-scroll">
      <table>
        <thead>
          <tr>
            {token.header.map((cell, key) => (
              <th key={key}>{inlines(cell.tokens)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {token.rows.map((row, key) => (
            <tr key={key}>
              {row.map((cell, column) => (
                <td key={column}>{inlines(cell.tokens)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(token: Token): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong>{inlines(token.tokens)}</strong>;
    case "em":
      return <em>{inlines(token.tokens)}</em>;
    case "del":
      return <s>{inlines(token.tokens)}</s>;
    case "codespan":
      return <code>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br />;
    case "link":
      return link(token as Tokens.Link);
    case "text":
      return token.tokens ? inlines(token.tokens) : (token as Tokens.Text).text;
    case "escape":
      return (token as Tokens.Escape).text;
    default:
      return token.raw;
  }
}

/** Only addresses that cannot run code become links. */
function link(token: Tokens.Link): ReactNode {
  if (!/^(https?:|mailto:)/i.test(token.href)) return token.raw;
  return (
    <a href={token.href} target="_blank" rel="noreferrer noopener">
      {inlines(token.tokens)}
    </a>
  );
}
