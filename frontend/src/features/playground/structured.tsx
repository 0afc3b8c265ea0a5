import { CircleAlert, CircleCheck } from "lucide-react";

import { JsonTree } from "@/components/json-tree";
import Markdown from "@/components/markdown";
import type { ToolCall } from "@/lib/answer-stream";
import { plural } from "@/lib/format";
import { valueIn } from "@/lib/json-text";

import type { Read } from "./structure";

interface StructuredProps {
  text: string;
  /** The answer as JSON, where it is some. */
  read: Read | null;
  /** Whether it was to fit a schema. */
  asked: boolean;
  calls: ToolCall[];
}

/** An answer that is JSON, as a tree with what does not fit, and the tools that it calls. */
export default function Structured({ text, read, asked, calls }: StructuredProps) {
  return (
    <>
      {read ? (
        <>
          {asked && <Validity problems={read.problems} />}
          <JsonTree value={read.value} open={3} />
        </>
      ) : (
        text !== "" && <Markdown text={text} />
      )}
      {calls.map((call, index) => (
        <Call key={call.id ?? index} call={call} />
      ))}
    </>
  );
}

function Validity({ problems }: { problems: string[] }) {
  if (problems.length === 0) {
    return (
      <p className="answer-valid">
        <CircleCheck size={14} aria-hidden="true" /> Fits the schema
      </p>
    );
  }
  return (
    <div className="answer-invalid">
      <CircleAlert size={14} aria-hidden="true" /> Does not fit the schema: {plural(problems.length, "problem")}
      <ul>
        {problems.map((problem) => (
          <li key={problem} className="mono">
            {problem}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Call({ call }: { call: ToolCall }) {
  const value = valueIn(call.arguments);
  return (
    <section className="answer-call" aria-label={`Call of ${call.name}`}>
      <header>
        <span className="mono">{call.name}</span>
        {call.id && <span className="faint mono ellipsis">{call.id}</span>}
      </header>
      {value === undefined ? <pre tabIndex={0}>{call.arguments}</pre> : <JsonTree value={value} open={3} />}
    </section>
  );
}
