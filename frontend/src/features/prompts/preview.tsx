import { Braces } from "lucide-react";
import { lazy, Suspense, useState } from "react";

import { Button } from "@/components/button";
import { CopyButton } from "@/components/copy";
import { PromptArea } from "@/components/prompt-area";
import { Link } from "@/components/link";
import { useProject } from "@/hooks/use-project";
import { useRemembered } from "@/hooks/use-remembered";
import { messageOf } from "@/lib/api/client";
import { promptHref } from "@/lib/api/prompts";
import { plural } from "@/lib/format";
import { piecesOf, render, variablesIn } from "@/lib/template";

import type { Content } from "./content";
import { exampleText, withDeclared, type Declaration, type Inputs } from "./declared";
import { useComposed } from "./parts";

const DeclareDialog = lazy(() => import("./declare-dialog"));

type Values = Record<string, string>;

interface PreviewProps {
  scope: string;
  name: string;
  content: Content;
  /** Missing where the text is only looked at. */
  onChange?: (content: Content) => void;
}

const examplesOf = (inputs: Inputs): Values =>
  Object.fromEntries(Object.entries(inputs).flatMap(([name, { example }]) => (example === undefined ? [] : [[name, exampleText(example)]])));

/** The prompt as the model gets it, with values that are remembered for the next visit. */
export function Preview({ scope, name: prompt, content, onChange }: PreviewProps) {
  const [values, setValues] = useRemembered<Values>(`values.${scope}`, {});
  const { messages, parts, error } = useComposed(prompt, content);
  const inputs = content.inputs ?? {};
  const examples = examplesOf(inputs);
  const names = variablesIn(messages);
  const missing = names.filter((name) => !values[name]);
  const texts = messages.map((m) => render(m.content, values));
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  return (
    <div className="p-preview">
      <section aria-label="Variables">
        <div className="p-preview-head">
          <h2>Variables</h2>
          {missing.length > 0 && names.length > 0 && <span className="faint">{missing.length === names.length ? "Type values to see them filled in" : `${missing.length} without a value`}</span>}
          {missing.some((name) => examples[name]) && (
            <Button variant="quiet" size="small" onClick={() => setValues({ ...examples, ...values })}>
              Use the examples
            </Button>
          )}
          {names.length > missing.length && (
            <Button variant="quiet" size="small" onClick={() => setValues({})}>
              Clear
            </Button>
          )}
        </div>
        {names.length === 0 && (
          <p className="p-preview-none faint">
            <Braces size={14} aria-hidden="true" /> None. Write <code>{"{{question}}"}</code> where the caller’s text belongs.
          </p>
        )}
        {names.map((name) => (
          <Variable key={name} name={name} declaration={inputs[name]} value={values[name] ?? ""} onValue={(value) => setValues({ ...values, [name]: value })} onDeclare={onChange && ((declaration) => onChange({ ...content, inputs: withDeclared(inputs, name, declaration) }))} />
        ))}
      </section>
      <section aria-label="Rendered prompt">
        <div className="p-preview-head">
          <h2>As sent</h2>
          <span className="faint">{plural(length, "character")}</span>
          <CopyButton text={texts.join("\n\n")} label="Copy the rendered prompt" />
        </div>
        <Parts parts={parts} error={error} />
        {messages.map((message, index) => (
          <div key={index} className="p-rendered">
            {content.type === "chat" && <span className="p-message-role">{message.role}</span>}
            <Filled text={message.content} values={values} />
          </div>
        ))}
      </section>
    </div>
  );
}

interface VariableProps {
  name: string;
  declaration: Declaration | undefined;
  value: string;
  onValue: (value: string) => void;
  onDeclare?: (declaration: Declaration) => void;
}

function Variable({ name, declaration, value, onValue, onDeclare }: VariableProps) {
  const [open, setOpen] = useState(false);
  const kind = declaration?.type ?? "text";
  return (
    <div className="p-variable">
      <span className="p-variable-name">
        <code className="ellipsis" title={[name, declaration?.description].filter(Boolean).join(": ")}>
          {name}
        </code>
        {onDeclare ? (
          <button type="button" className="p-variable-type" title="Declare type, example and description" onClick={() => setOpen(true)}>
            {kind}
          </button>
        ) : (
          declaration && <span className="p-variable-type">{kind}</span>
        )}
      </span>
      <PromptArea aria-label={name} value={value} placeholder={exampleText(declaration?.example) || "—"} onChange={(event) => onValue(event.target.value)} />
      <Suspense>{open && onDeclare && <DeclareDialog name={name} declaration={declaration} onSave={onDeclare} onClose={() => setOpen(false)} />}</Suspense>
    </div>
  );
}

/** The prompts inside of this one, each with the version that stands there now. */
function Parts({ parts, error }: { parts: { name: string; version: number }[]; error: unknown }) {
  const { slug } = useProject();
  if (error) {
    return (
      <p className="field-error" role="alert">
        {messageOf(error)}
      </p>
    );
  }
  if (parts.length === 0) return null;
  return (
    <p className="p-parts faint">
      Contains{" "}
      {parts.map(({ name, version }, index) => (
        <Link key={`${name} ${version} ${index}`} href={`${promptHref(slug, name)}?v=${version}`}>
          {name} v{version}
        </Link>
      ))}
    </p>
  );
}

/** Values in place of their variables; what has none stays as written and is marked. */
function Filled({ text, values }: { text: string; values: Values }) {
  if (text === "") return <p className="faint">No text yet</p>;
  return (
    <p className="p-filled">
      {piecesOf(text).map((piece, index) => {
        if (piece.variable === null) return piece.text;
        const value = values[piece.variable];
        return value ? (
          <mark key={index} title={piece.variable}>
            {value}
          </mark>
        ) : (
          <mark key={index} className="p-unfilled" title={`${piece.variable} has no value here`}>
            {piece.text}
          </mark>
        );
      })}
    </p>
  );
}
