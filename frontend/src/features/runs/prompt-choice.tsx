import { useQuery } from "@tanstack/react-query";

import { Field, Select } from "@/components/field";
import { PromptText } from "@/components/prompt-area";
import { Failure } from "@/components/states";
import { useProject } from "@/hooks/use-project";
import { useUrl } from "@/hooks/use-url";
import { allVersionsQuery } from "@/lib/api/prompts";
import { modelsQuery } from "@/lib/api/queries";
import type { PromptVersion } from "@/lib/api/types";
import { messagesOf } from "@/lib/template";

/** The prompt, its version and the model of a run that is being made; all of it in the address. */
export function useChoice() {
  const { slug } = useProject();
  const [params, change] = useUrl();
  const name = params.get("prompt");
  const label = params.get("label");
  const query = useQuery({ ...allVersionsQuery(slug, name ?? ""), enabled: name !== null });
  const versions = (name !== null && query.data) || [];
  const version = chosenVersion(versions, label, Number(params.get("version")));
  const models = useQuery(modelsQuery(slug)).data;
  const local = (models ?? []).filter((m) => m.kind === "local");
  return {
    name,
    versions,
    version,
    error: query.error,
    label,
    local,
    modelsKnown: models !== undefined,
    /** Nothing is known to be missing before all is there. */
    loading: models === undefined || (name !== null && query.isPending),
    model: modelOf(params.get("model"), version, local.map((m) => m.id)),
    reference: name !== null && version ? { name, ...(label ? { label } : { version: version.version }) } : null,
    change,
  };
}

function chosenVersion(versions: PromptVersion[], label: string | null, number: number): PromptVersion | undefined {
  if (label) return versions.find((v) => v.labels.includes(label));
  return versions.find((v) => v.version === number) ?? versions[0];
}

export type Choice = ReturnType<typeof useChoice>;

/** Batch runs are the local engine's; a prompt that names a remote model is answered by a local one, and that is told. */
function modelOf(asked: string | null, version: PromptVersion | undefined, local: string[]): string | null {
  const wanted = [asked, version?.config.model].find((id) => typeof id === "string" && local.includes(id));
  return (wanted as string | undefined) ?? local[0] ?? null;
}

export function PromptChoice({ names, choice }: { names: string[]; choice: Choice }) {
  const { name, version, error, change } = choice;
  return (
    <section className="run-section" aria-label="Prompt and model">
      <div className="form-row">
        <Field label="Prompt">
          <Select value={name ?? ""} onChange={(event) => change({ prompt: event.target.value, version: null, label: null })}>
            {name === null && <option value="">Choose a prompt</option>}
            {[...(name === null || names.includes(name) ? [] : [name]), ...names].map((each) => (
              <option key={each}>{each}</option>
            ))}
          </Select>
        </Field>
        <VersionField choice={choice} />
        <ModelField choice={choice} />
      </div>
      {error !== null && name !== null && <Failure what={`The versions of ${name} could not be loaded`} error={error} />}
      {version && <Text version={version} />}
    </section>
  );
}

function ModelField({ choice }: { choice: Choice }) {
  const { local, model, modelsKnown, change } = choice;
  return (
    <Field label="Model" hint={modelHint(choice)}>
      <Select disabled={local.length === 0} value={model ?? ""} onChange={(event) => change({ model: event.target.value })}>
        {local.length === 0 && <option value="">{modelsKnown ? "No local model" : ""}</option>}
        {local.map((m) => (
          <option key={m.id}>{m.id}</option>
        ))}
      </Select>
    </Field>
  );
}

function VersionField({ choice: { versions, version, label, change } }: { choice: Choice }) {
  const value = label ? `@${label}` : String(version?.version ?? "");
  return (
    <Field label="Version">
      <Select disabled={versions.length === 0} value={value} onChange={(event) => change(referenceOf(event.target.value))}>
        {versions.length === 0 && !label && <option value="">First choose a prompt</option>}
        {versions.map((v) => (
          <option key={v.version} value={v.version}>
            {[`Version ${v.version}`, ...v.labels].join(" · ")}
          </option>
        ))}
        {label && (
          <option value={value}>
            {value}
            {version ? ` (version ${version.version})` : ": on no version"}
          </option>
        )}
      </Select>
    </Field>
  );
}

const referenceOf = (value: string) => (value.startsWith("@") ? { label: value.slice(1), version: null } : { version: value, label: null });

function modelHint({ version, model, local, modelsKnown }: Choice): string | undefined {
  if (!modelsKnown) return undefined;
  if (local.length === 0) return "Runs use the local engine, and it has no model yet";
  const wanted = version?.config.model;
  if (typeof wanted !== "string" || wanted === model) return undefined;
  return local.some((m) => m.id === wanted) ? `The prompt asks for ${wanted}` : `The prompt asks for ${wanted}, which is not local; runs use the local engine`;
}

/** What will be sent, in a few lines, and with which parameters. */
function Text({ version }: { version: PromptVersion }) {
  const parameters = Object.entries(version.config).filter(([name]) => name !== "model");
  return (
    <div className="run-prompt">
      {messagesOf(version.prompt).map((message, index) => (
        <div key={index}>
          {version.type === "chat" && <span className="faint">{message.role}</span>}
          <PromptText text={typeof message.content === "string" ? message.content : JSON.stringify(message.content)} />
        </div>
      ))}
      {parameters.length > 0 && (
        <p className="faint mono">{parameters.map(([name, value]) => `${name} ${JSON.stringify(value)}`).join(" · ")}</p>
      )}
    </div>
  );
}
