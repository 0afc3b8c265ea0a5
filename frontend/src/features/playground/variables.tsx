import { useId, type ReactNode } from "react";

import { PromptArea } from "@/components/prompt-area";
import type { Message } from "@/lib/api/types";
import { variablesIn } from "@/lib/template";

interface VariablesProps {
  messages: readonly Message[];
  values: Record<string, string>;
  onChange: (values: Record<string, string>) => void;
  /** Where values can come from. */
  children?: ReactNode;
}

export function Variables({ messages, values, onChange, children }: VariablesProps) {
  const id = useId();
  const names = variablesIn(messages);
  if (names.length === 0) return null;
  return (
    <section className="variables" aria-label="Variables">
      <header>
        <h2>Variables</h2>
        {children}
      </header>
      {names.map((name) => (
        <div key={name} className="variable">
          <label htmlFor={`${id}-${name}`} className="mono">
            {name}
          </label>
          <PromptArea id={`${id}-${name}`} data-variable={name} placeholder="Value" value={values[name] ?? ""} onChange={(event) => onChange({ ...values, [name]: event.target.value })} />
        </div>
      ))}
    </section>
  );
}
