import { Field } from "@/components/field";

import type { Draft } from "./draft";
import { structureOf } from "./structure";

const TOOL = `[{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]`;
const SCHEMA = `{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}`;

/** Tools that the model may call, and the form of its answer: both JSON, as they are sent. */
export function Structures({ draft, onChange }: { draft: Draft; onChange: (changes: Partial<Draft>) => void }) {
  const { problems, request } = structureOf(draft);
  const tools = Array.isArray(request.tools) ? request.tools.length : 0;
  return (
    <div className="structures">
      <details open={draft.tools !== "" || undefined}>
        <summary>
          Tools <span className="faint">{problems.tools ? "not valid" : tools > 0 ? tools : "none"}</span>
        </summary>
        <Field label="Tools as JSON" hint="As OpenAI’s API takes them. The local engine has none yet and says so" error={problems.tools}>
          <textarea className="textarea mono" data-structure="tools" rows={rowsOf(draft.tools)} spellCheck={false} placeholder={TOOL} value={draft.tools} onChange={(event) => onChange({ tools: event.target.value })} />
        </Field>
      </details>
      <details open={draft.format !== "" || undefined}>
        <summary>
          Answer format <span className="faint">{problems.format ? "not valid" : request.response_format ? "JSON" : "text"}</span>
        </summary>
        <Field label="Schema or response format as JSON" hint="A JSON Schema; answers are checked against it as they come in" error={problems.format}>
          <textarea className="textarea mono" data-structure="format" rows={rowsOf(draft.format)} spellCheck={false} placeholder={SCHEMA} value={draft.format} onChange={(event) => onChange({ format: event.target.value })} />
        </Field>
      </details>
    </div>
  );
}

const rowsOf = (text: string): number => Math.min(16, Math.max(4, text.split("\n").length));
