import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { Field, Input, Select } from "@/components/field";
import { PromptArea } from "@/components/prompt-area";
import { useMay, useProject } from "@/hooks/use-project";
import { modelsQuery } from "@/lib/api/queries";
import { PARAMETERS } from "@/lib/parameters";

import { SharedField } from "./form-field";
import type { PanelProps } from "./panels";
import type { Room } from "./room";
import { useShared } from "./use-room";
import { variableOf, variablesOf, VARIABLE_TYPES } from "./variables";

const TAB = "settings";
const OWN = new Set<string>(["model", ...PARAMETERS.map(({ name }) => name)]);

/** Model, parameters and variables: shared like the text, each field for itself. */
export function SettingsPanel(props: PanelProps) {
  useShared(props.room.config);
  return (
    <>
      <Model {...props} />
      <Parameters {...props} />
      <Others {...props} />
      <Variables {...props} />
    </>
  );
}

/** Sets a value, or takes it away where nothing is left of it. */
function put(room: Room, name: string, value: unknown): void {
  if (value === null || value === "") room.config.delete(name);
  else if (room.config.get(name) !== value) room.config.set(name, value);
}

function Model({ room, state }: PanelProps) {
  const { slug } = useProject();
  const may = useMay("member");
  const models = useQuery(modelsQuery(slug));
  const chosen = String(room.config.get("model") ?? "");
  const known = [...new Set([...(models.data ?? []).map(({ id }) => id), ...(chosen ? [chosen] : [])])];
  return (
    <SharedField room={room} people={state.people} tab={TAB} field="model" label="Model">
      <Field label="Model">
        <Select disabled={!may} value={chosen} onChange={(event) => put(room, "model", event.target.value)}>
          <option value="">The caller chooses</option>
          {known.map((id) => (
            <option key={id}>{id}</option>
          ))}
        </Select>
      </Field>
    </SharedField>
  );
}

function Parameters({ room, state }: PanelProps) {
  const may = useMay("member");
  return (
    <section aria-labelledby="t-parameters">
      <h2 id="t-parameters">Parameters</h2>
      <div className="t-parameters">
        {PARAMETERS.map(({ name, hint, ...limits }) => (
          <SharedField key={name} room={room} people={state.people} tab={TAB} field={name} label={name.replaceAll("_", " ")}>
            <label title={hint}>
              <span>{name.replaceAll("_", " ")}</span>
              <NumberInput {...limits} disabled={!may} value={room.config.get(name)} onValue={(value) => put(room, name, value)} />
            </label>
          </SharedField>
        ))}
      </div>
    </section>
  );
}

interface NumberInputProps {
  value: unknown;
  onValue: (value: number | null) => void;
  disabled: boolean;
  min?: number;
  max?: number;
  step?: number;
}

/** What is typed stands as typed while one is in the field: "0." is on its way to "0.7". */
function NumberInput({ value, onValue, ...rest }: NumberInputProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const shared = typeof value === "number" ? String(value) : "";
  const change = (text: string) => {
    setTyped(text);
    if (text.trim() === "") onValue(null);
    else if (Number.isFinite(Number(text))) onValue(Number(text));
  };
  return <Input type="number" inputMode="decimal" placeholder="default" {...rest} value={typed ?? shared} onChange={(event) => change(event.target.value)} onBlur={() => setTyped(null)} />;
}

/** Tools, response format and whatever else a version may carry: JSON, taken over when it is whole. */
function Others({ room, state }: PanelProps) {
  const others = [...room.config.keys()].filter((name) => !OWN.has(name)).sort();
  if (others.length === 0) return null;
  return (
    <section aria-labelledby="t-others">
      <h2 id="t-others">Also set</h2>
      {others.map((name) => (
        <SharedField key={name} room={room} people={state.people} tab={TAB} field={name} label={name}>
          <JsonField name={name} room={room} />
        </SharedField>
      ))}
    </section>
  );
}

function JsonField({ name, room }: { name: string; room: Room }) {
  const may = useMay("member");
  const [typed, setTyped] = useState<string | null>(null);
  const [error, setError] = useState<string | null>(null);
  const leave = () => {
    if (typed === null) return;
    try {
      put(room, name, typed.trim() === "" ? null : JSON.parse(typed));
      setTyped(null);
      setError(null);
    } catch {
      setError("This is not JSON yet; the room keeps what was there.");
    }
  };
  return (
    <Field label={name} error={error}>
      <textarea className="input t-json mono" readOnly={!may} rows={3} spellCheck={false} value={typed ?? JSON.stringify(room.config.get(name), null, 2)} onChange={(event) => setTyped(event.target.value)} onBlur={leave} />
    </Field>
  );
}

function Variables({ room, state }: PanelProps) {
  useShared(room.variables);
  useShared(room.text);
  useShared(room.messages);
  const may = useMay("member");
  const names = variablesOf(room);
  return (
    <section aria-labelledby="t-variables">
      <h2 id="t-variables">Variables</h2>
      {names.length === 0 && (
        <p className="faint">
          Write <code>{"{{name}}"}</code> in the text: its type and an example stand here.
        </p>
      )}
      {names.map((name) => {
        const variable = variableOf(room, name);
        const change = (part: Partial<typeof variable>) => room.variables.set(name, { ...variable, ...part });
        return (
          <SharedField key={name} room={room} people={state.people} tab={TAB} field={`{{${name}}}`} label={`{{${name}}}`}>
            <div className="t-variable">
              <span className="mono ellipsis" title={name}>
                {name}
              </span>
              <Select aria-label={`Type of ${name}`} disabled={!may} value={variable.type} onChange={(event) => change({ type: event.target.value })}>
                {VARIABLE_TYPES.map((type) => (
                  <option key={type}>{type}</option>
                ))}
              </Select>
              <PromptArea aria-label={`Example of ${name}`} placeholder="Example" readOnly={!may} value={variable.example} onChange={(event) => change({ example: event.target.value })} />
            </div>
          </SharedField>
        );
      })}
    </section>
  );
}
