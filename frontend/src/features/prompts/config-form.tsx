import { useQuery } from "@tanstack/react-query";
import { Braces, Plus, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";

import { Button, IconButton } from "@/components/button";
import { Select } from "@/components/field";
import { Menu, MenuItem } from "@/components/menu";
import { useProject } from "@/hooks/use-project";
import { modelsQuery } from "@/lib/api/queries";

import { fieldText, normalized, PARAMETERS, parseConfig, problemOf, type Config } from "./parameters";

interface ConfigProps {
  config: Config;
  onChange: (config: Config) => void;
  readOnly: boolean;
}

/** The model and its parameters in one line; anything else as JSON. */
export function ConfigForm({ config, onChange, readOnly }: ConfigProps) {
  const [asJson, setAsJson] = useState(false);
  const [added, setAdded] = useState<string | null>(null);
  if (asJson) return <JsonConfig config={config} onChange={onChange} readOnly={readOnly} onClose={() => setAsJson(false)} />;
  const set = (name: string, value: unknown) => onChange({ ...config, [name]: value });
  const drop = (name: string) => onChange(Object.fromEntries(Object.entries(config).filter(([key]) => key !== name)));
  const names = Object.keys(config).filter((name) => name !== "model");
  return (
    <div className="p-config">
      <ModelSelect model={typeof config.model === "string" ? config.model : ""} onChange={(model) => (model ? set("model", model) : drop("model"))} readOnly={readOnly} />
      {names.map((name) => (
        <ParameterField key={name} name={name} value={config[name]} readOnly={readOnly} isNew={name === added} onChange={(value) => set(name, value)} onDrop={() => drop(name)} onJson={() => setAsJson(true)} />
      ))}
      {!readOnly && (
        <Menu trigger={<Button variant="quiet" size="small" icon={<Plus size={14} />}>Parameter</Button>}>
          {Object.keys(PARAMETERS)
            .filter((name) => !(name in config))
            .map((name) => (
              <MenuItem key={name} onSelect={() => (set(name, ""), setAdded(name))}>
                <span className="mono">{name}</span>
              </MenuItem>
            ))}
        </Menu>
      )}
      <IconButton className="p-config-json" label={readOnly ? "Show the config as JSON" : "Edit the config as JSON"} icon={<Braces size={14} />} onClick={() => setAsJson(true)} />
    </div>
  );
}

function ModelSelect({ model, onChange, readOnly }: { model: string; onChange: (model: string) => void; readOnly: boolean }) {
  const { slug } = useProject();
  const models = useQuery(modelsQuery(slug)).data;
  const groups = Map.groupBy(models ?? [], (m) => m.connection);
  const unknown = model !== "" && !models?.some((m) => m.id === model);
  return (
    <Select className="p-config-model" aria-label="Model" value={model} disabled={readOnly} onChange={(event) => onChange(event.target.value)}>
      <option value="">Model: as the caller asks</option>
      {unknown && <option value={model}>{models ? `${model} (not connected)` : model}</option>}
      {[...groups].map(([connection, members]) => (
        <optgroup key={connection} label={connection}>
          {members.map((m) => (
            <option key={m.id} value={m.id}>
              {m.id}
            </option>
          ))}
        </optgroup>
      ))}
    </Select>
  );
}

interface ParameterProps {
  name: string;
  value: unknown;
  readOnly: boolean;
  isNew: boolean;
  onChange: (value: string) => void;
  onDrop: () => void;
  onJson: () => void;
}

function ParameterField({ name, value, readOnly, isNew, onChange, onDrop, onJson }: ParameterProps) {
  const parameter = PARAMETERS[name];
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (!isNew) return undefined;
    // The closing menu gives the focus back to its button first.
    const timer = setTimeout(() => field.current?.focus(), 30);
    return () => clearTimeout(timer);
  }, [isNew]);
  const text = fieldText(name, value);
  const problem = problemOf(name, value);
  if (!parameter) {
    return (
      <button type="button" className="p-parameter p-parameter-json" title={text} onClick={onJson}>
        <span>{name}</span>
        <code className="ellipsis">{text}</code>
      </button>
    );
  }
  return (
    <label className="p-parameter" title={problem ?? parameter.hint} data-invalid={problem !== null}>
      <span>{name}</span>
      <input
        ref={field}
        value={text}
        style={{ width: `${Math.max(3, Math.min(18, text.length + 1))}ch` }}
        inputMode={parameter.kind === "text-list" ? "text" : "decimal"}
        readOnly={readOnly}
        aria-invalid={problem !== null}
        aria-description={problem ?? parameter.hint}
        autoComplete="off"
        onChange={(event) => onChange(event.target.value)}
        onBlur={() => value === "" && onDrop()}
      />
      {!readOnly && <IconButton label={`Remove ${name}`} icon={<X size={12} />} onClick={onDrop} />}
    </label>
  );
}

function JsonConfig({ config, onChange, readOnly, onClose }: ConfigProps & { onClose: () => void }) {
  const [text, setText] = useState(() => JSON.stringify(normalized(config), null, 2));
  const [problem, setProblem] = useState<string | null>(null);
  const type = (next: string) => {
    setText(next);
    try {
      onChange(parseConfig(next));
      setProblem(null);
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <div className="p-config p-config-open">
      <textarea className="textarea mono" aria-label="Config as JSON" aria-invalid={problem !== null} rows={Math.min(14, text.split("\n").length + 1)} value={text} readOnly={readOnly} spellCheck={false} onChange={(event) => type(event.target.value)} />
      <div className="p-config-foot">
        <span className={problem ? "field-error" : "field-hint"} role={problem ? "alert" : undefined}>
          {problem ?? "Sent with every call; the caller’s own parameters go before these."}
        </span>
        <Button size="small" disabled={problem !== null} onClick={onClose}>
          Done
        </Button>
      </div>
    </div>
  );
}
