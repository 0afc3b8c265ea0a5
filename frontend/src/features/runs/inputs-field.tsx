import { FileText, Upload, X } from "lucide-react";
import { useRef, useState, type DragEvent } from "react";

import { Button, IconButton } from "@/components/button";
import { formatBytes, plural } from "@/lib/format";

import { shownProblems } from "./check";
import type { Inputs, Problem } from "./inputs";
import type { InputSource } from "./use-inputs";

interface InputsProps {
  input: InputSource;
  wanted: string[];
  problems: Problem[];
  unused: string[];
}

/** Inputs by paste, by drop or from a file, with what is right or wrong about them under it. */
export function InputsField({ input, wanted, problems, unused }: InputsProps) {
  const chooser = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const file = event.dataTransfer.files[0];
    if (file) input.take(file);
  };
  return (
    <section className="run-section">
      <div className="run-inputs-head">
        <label htmlFor="run-inputs">Inputs</label>
        <span className="faint">JSON lines, a JSON list, CSV, or cells out of a spreadsheet</span>
        <Button size="small" icon={<Upload size={14} />} onClick={() => chooser.current?.click()}>
          Choose a file
        </Button>
        <input ref={chooser} type="file" hidden aria-label="File with inputs" accept=".csv,.tsv,.jsonl,.ndjson,.json,.txt,text/csv,application/json" onChange={(event) => takeFirst(event.target, input)} />
      </div>
      <div className="run-drop" data-over={over} onDragOver={(event) => (event.preventDefault(), setOver(true))} onDragLeave={() => setOver(false)} onDrop={drop}>
        {input.file ? (
          <div className="run-file">
            <FileText size={16} aria-hidden="true" />
            <span className="ellipsis">{input.file.name}</span>
            <span className="faint">{formatBytes(input.file.size)}</span>
            <IconButton label="Take the file out" icon={<X size={14} />} onClick={input.clear} />
          </div>
        ) : (
          <textarea id="run-inputs" className="textarea mono" rows={7} spellCheck={false} placeholder={exampleFor(wanted)} value={input.text} aria-describedby="run-inputs-note" aria-invalid={problems.length > 0} onChange={(event) => input.paste(event.target.value)} />
        )}
      </div>
      <div id="run-inputs-note" className="run-note" aria-live="polite">
        <Note input={input} wanted={wanted} problems={problems} unused={unused} />
      </div>
    </section>
  );
}

function takeFirst(chooser: HTMLInputElement, input: InputSource): void {
  const file = chooser.files?.[0];
  if (file) input.take(file);
  chooser.value = "";
}

function exampleFor(wanted: string[]): string {
  const names = wanted.length > 0 ? wanted : ["question"];
  const row = (text: string) => JSON.stringify(Object.fromEntries(names.map((name) => [name, text])));
  return `${row("…")}\n${row("…")}`;
}

function Note({ input, wanted, problems, unused }: InputsProps) {
  if (input.error) return <p className="field-error">{input.error}.</p>;
  if (problems.length > 0) {
    return shownProblems(problems).map((problem) => (
      <p key={problem} className="field-error">
        {problem}
      </p>
    ));
  }
  if (!input.inputs) return <p className="field-hint">{wanted.length > 0 ? `Each row wants ${wanted.join(", ")}.` : "Paste them here, or drop a file."}</p>;
  const { rows, format, columns } = input.inputs;
  return (
    <>
      <p className="field-hint run-fits">
        {plural(rows.length, "row")} of {format}, {plural(columns.length, "column")}.{wanted.length > 0 ? ` ${wanted.join(", ")} found.` : " The prompt has no variables, so every row makes the same call."}
      </p>
      {wanted.length > 0 && unused.length > 0 && <p className="field-hint">Not used by the prompt: {unused.join(", ")}.</p>}
    </>
  );
}

const ROWS_SHOWN = 5;

/** The first rows as they were understood; what the prompt uses comes first. */
export function InputsPreview({ inputs, wanted }: { inputs: Inputs; wanted: string[] }) {
  const columns = [...wanted.filter((name) => inputs.columns.includes(name)), ...inputs.columns.filter((name) => !wanted.includes(name))];
  return (
    <section className="run-section" aria-label="First rows">
      <div className="table-scroll run-preview" tabIndex={0} role="group" aria-label="First rows">
        <table className="table">
          <thead>
            <tr>
              <th className="num">Line</th>
              {columns.map((name) => (
                <th key={name} className={wanted.includes(name) ? "run-used" : ""}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {inputs.rows.slice(0, ROWS_SHOWN).map((row, index) => (
              <tr key={index}>
                <td className="num faint">{inputs.lines[index]}</td>
                {columns.map((name) => (
                  <td key={name} className={wanted.includes(name) ? "" : "faint"}>
                    <span className="run-cell" title={row[name]?.slice(0, 1000)}>
                      {row[name]}
                    </span>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {inputs.rows.length > ROWS_SHOWN && <p className="field-hint">And {plural(inputs.rows.length - ROWS_SHOWN, "more row")}</p>}
    </section>
  );
}
