import type { UseQueryResult } from "@tanstack/react-query";
import { SlidersHorizontal, X } from "lucide-react";

import { Button, IconButton } from "@/components/button";
import { Field, Input, Select } from "@/components/field";
import { Link } from "@/components/link";
import { useProject } from "@/hooks/use-project";
import { useRemembered } from "@/hooks/use-remembered";
import type { Model, PromptVersion } from "@/lib/api/types";
import { formatCount } from "@/lib/format";

import { numbersOf, PARAMETERS } from "./draft";

interface SettingsProps {
  models: UseQueryResult<Model[]>;
  model: string | null;
  parameters: Record<string, string>;
  /** The longest answer while none is typed. */
  limit: number;
  onModel: (model: string) => void;
  onParameters: (parameters: Record<string, string>) => void;
  /** Of the prompt that is tried; null: what stands in the editor. */
  versions: PromptVersion[];
  version: number | null;
  onVersion: (version: number | null) => void;
  onRemove?: () => void;
}

export function ModelSettings({ models, model, parameters, limit, onModel, onParameters, versions, version, onVersion, onRemove }: SettingsProps) {
  const [open, setOpen] = useRemembered("playground.parameters", false);
  const set = Object.entries(numbersOf(parameters));
  return (
    <div className="model-settings">
      <div className="model-line">
        <ModelSelect models={models} model={model} onModel={onModel} />
        {versions.length > 1 && <VersionSelect versions={versions} version={version} onVersion={onVersion} />}
        <span className="model-set mono faint ellipsis">{!open && set.map(([name, value]) => `${name} ${value}`).join("  ")}</span>
        <Button variant="quiet" icon={<SlidersHorizontal size={15} />} aria-expanded={open} onClick={() => setOpen(!open)}>
          <span className="parameters-word">Parameters</span>
        </Button>
        {onRemove && <IconButton label="Remove this column" icon={<X size={15} />} onClick={onRemove} />}
      </div>
      {open && (
        <div className="parameters">
          {PARAMETERS.map(({ name, hint, ...limits }) => (
            <Field key={name} label={name.replaceAll("_", " ")} hint={name === "max_tokens" ? `${hint}; ${formatCount(limit)} by default` : hint}>
              <Input type="number" inputMode="decimal" placeholder={name === "max_tokens" ? String(limit) : "default"} {...limits} value={parameters[name] ?? ""} onChange={(event) => onParameters({ ...parameters, [name]: event.target.value })} />
            </Field>
          ))}
        </div>
      )}
    </div>
  );
}

function VersionSelect({ versions, version, onVersion }: Pick<SettingsProps, "versions" | "version" | "onVersion">) {
  return (
    <Select aria-label="Version of this column" value={version ?? ""} onChange={(event) => onVersion(event.target.value ? Number(event.target.value) : null)}>
      <option value="">as in the editor</option>
      {versions.map((one) => (
        <option key={one.version} value={one.version}>
          {[`v${one.version}`, ...one.labels].join(" · ")}
        </option>
      ))}
    </Select>
  );
}

function ModelSelect({ models, model, onModel }: Pick<SettingsProps, "models" | "model" | "onModel">) {
  const { slug } = useProject();
  const list = models.data ?? [];
  if (models.isSuccess && list.length === 0) {
    return (
      <p className="muted">
        No model answers yet.{" "}
        <Link className="source-link" href={`/p/${slug}/settings/connections`}>
          Add a connection
        </Link>
      </p>
    );
  }
  const groups = Map.groupBy(list, (m) => (m.kind === "local" ? "On this machine" : m.connection));
  const known = list.some((m) => m.id === model);
  return (
    <Select aria-label="Model" value={model ?? ""} onChange={(event) => onModel(event.target.value)}>
      {!known && <option value={model ?? ""}>{model ? `${model} (not connected)` : "Loading"}</option>}
      {[...groups].map(([name, members]) => (
        <optgroup key={name} label={name}>
          {members.map((m) => (
            <option key={m.id}>{m.id}</option>
          ))}
        </optgroup>
      ))}
    </Select>
  );
}
