import type { UseQueryResult } from "@tanstack/react-query";

import type { Model, PromptVersion } from "@/lib/api/types";

import { Answers } from "./answers";
import type { Column } from "./draft";
import { ModelSettings } from "./model-settings";
import type { Answer } from "./use-answers";

interface ColumnsProps {
  columns: Column[];
  models: UseQueryResult<Model[]>;
  /** Of the prompt that is tried. */
  versions: PromptVersion[];
  answers: Answer[];
  schema: unknown;
  /** Whether the others show how they differ from the first. */
  diff: boolean;
  /** The longest answer of a version's column while none is typed. */
  limitOf: (version: number | null) => number;
  onRaise?: (column: number, tokens: number) => void;
  onChange: (columns: Column[]) => void;
}

/** Who answers, side by side: each column has its model, its parameters and its answers. */
export function Columns({ columns, models, versions, answers, schema, diff, limitOf, onRaise, onChange }: ColumnsProps) {
  const several = columns.length > 1;
  const set = (key: number, changes: Partial<Column>) => onChange(columns.map((c) => (c.key === key ? { ...c, ...changes } : c)));
  const of = (column: Column) => answers.filter((answer) => answer.column === column.key);
  const first = diff ? of(columns[0]!)[0]?.text : undefined;
  return (
    <div className="columns" tabIndex={several ? 0 : undefined} role="group" aria-label="Answers side by side">
      {columns.map((column, index) => (
        <section key={column.key} className="column" aria-label={`Column ${index + 1}`}>
          <ModelSettings
            models={models}
            model={column.model ?? models.data?.[0]?.id ?? null}
            parameters={column.parameters}
            onModel={(model) => set(column.key, { model })}
            limit={limitOf(column.version)}
            onParameters={(parameters) => set(column.key, { parameters })}
            versions={versions}
            version={column.version}
            onVersion={(version) => set(column.key, { version })}
            onRemove={several ? () => onChange(columns.filter((c) => c !== column)) : undefined}
          />
          <Answers label={`Answers of column ${index + 1}`} answers={of(column)} schema={schema} against={index > 0 ? first : undefined} onRaise={onRaise && ((tokens) => onRaise(column.key, tokens))} />
        </section>
      ))}
    </div>
  );
}
