import "./turn.css";

import { lazy, Suspense, useState } from "react";

import { asText, type Part, type Turn as TurnValue } from "@/lib/conversation";

import { CopyButton } from "./copy";
import { JsonTree } from "./json-tree";

const Markdown = lazy(() => import("./markdown"));

export type Reading = "markdown" | "plain";

const LONG = 6000;

/** One message, headed by its role. */
export function Turn({ turn, reading }: { turn: TurnValue; reading: Reading }) {
  return (
    <section className={`turn turn-${turn.role}`} aria-label={`${turn.role} message`}>
      <header>
        <span className="turn-role">{turn.role}</span>
        {turn.name && <span className="faint mono">{turn.name}</span>}
        <CopyButton text={() => asText([{ role: turn.role, content: plain(turn.parts) }], turn.role)} label="Copy message" />
      </header>
      <div className="turn-body">
        {turn.parts.length === 0 && <span className="faint">No text</span>}
        {turn.parts.map((part, index) => (
          <PartView key={index} part={part} reading={reading} />
        ))}
      </div>
    </section>
  );
}

const plain = (parts: Part[]) => parts.map((part) => (part.kind === "text" ? part.text : JSON.stringify(part))).join("\n");

function PartView({ part, reading }: { part: Part; reading: Reading }) {
  if (part.kind === "text") return <LongText text={part.text} reading={reading} />;
  if (part.kind === "image") return <Picture url={part.url} />;
  if (part.kind === "json") return <JsonTree value={part.value} />;
  return (
    <div className="turn-tool">
      <span className="mono">{part.name}</span>
      <pre tabIndex={0}>{part.arguments}</pre>
    </div>
  );
}

/** Pictures sent whole are shown; one named by its address is a link, so that reading a trace tells nobody. */
function Picture({ url }: { url: string }) {
  if (url.startsWith("data:")) return <img className="turn-image" src={url} alt="Sent to the model" />;
  return (
    <a className="turn-link" href={url} target="_blank" rel="noreferrer noopener">
      {url}
    </a>
  );
}

/** Long texts begin with what fits a few screens, so that a book in a prompt does not hold up the page. */
function LongText({ text, reading }: { text: string; reading: Reading }) {
  const [whole, setWhole] = useState(false);
  const shown = whole || text.length <= LONG * 1.2 ? text : text.slice(0, LONG);
  const raw = <p className="turn-plain">{shown}</p>;
  return (
    <>
      {reading === "markdown" ? (
        <Suspense fallback={raw}>
          <Markdown text={shown} />
        </Suspense>
      ) : (
        raw
      )}
      {shown.length < text.length && (
        <button type="button" className="turn-more" onClick={() => setWhole(true)}>
          Show the other {(text.length - shown.length).toLocaleString("en-US")} characters
        </button>
      )}
    </>
  );
}
