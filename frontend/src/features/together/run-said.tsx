import { JsonTree } from "@/components/json-tree";
import type { ToolCall } from "@/lib/answer-stream";
import { valueIn } from "@/lib/json-text";

interface SaidProps {
  /** The answer as a value, where it is JSON that was asked for. */
  value: unknown;
  text: string;
  calls: ToolCall[];
}

/** An answer that is more than words: JSON as a tree, and the tools that it calls. */
export default function RunSaid({ value, text, calls }: SaidProps) {
  return (
    <div className="t-answer">
      {value === undefined ? text : <JsonTree value={value} open={3} />}
      {calls.map((call, index) => (
        <section key={call.id ?? index} aria-label={`Call of ${call.name}`}>
          <span className="faint">calls</span> <span className="mono">{call.name}</span>
          <JsonTree value={valueIn(call.arguments) ?? call.arguments} open={2} />
        </section>
      ))}
    </div>
  );
}
