import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState, type FormEvent } from "react";

import { Button } from "@/components/button";
import { Field, Input, Select } from "@/components/field";
import { Segmented } from "@/components/segmented";
import { useHotkey } from "@/hooks/use-hotkey";
import { useProject } from "@/hooks/use-project";
import { messageOf } from "@/lib/api/client";
import { scoreConfigsQuery } from "@/lib/api/queries";
import type { ScoreConfig } from "@/lib/api/types";

import { NewConfig } from "./score-config-form";
import { useAddScore } from "./said-api";

interface Target {
  traceId: string;
  observationId: string;
}

/** Adds a score of a config; `s` opens it. */
export function ScoreForm(target: Target) {
  const [open, setOpen] = useState<boolean | null>(null);
  useHotkey("s", "Add a score", () => setOpen(true));
  if (open) return <OpenForm {...target} onClose={() => setOpen(false)} />;
  return (
    <Button size="small" icon={<Plus size={14} />} keys="s" autoFocus={open === false} onClick={() => setOpen(true)}>
      Add a score
    </Button>
  );
}

const NEW = "+";

function OpenForm({ onClose, ...target }: Target & { onClose: () => void }) {
  const { slug } = useProject();
  const configs = useQuery(scoreConfigsQuery(slug));
  const usable = (configs.data ?? []).filter((config) => !config.is_archived);
  const [asked, setAsked] = useState<string | null>(null);
  if (configs.isPending) return <p className="faint">Loading the kinds of scores…</p>;
  const chosen = asked ?? usable[0]?.id ?? NEW;
  const config = usable.find((one) => one.id === chosen);
  if (!config) return <NewConfig onMade={(made) => setAsked(made.id)} onClose={() => (usable[0] ? setAsked(usable[0].id) : onClose())} />;
  return (
    <ValueForm key={config.id} config={config} target={target} onClose={onClose}>
      <Field label="Score">
        <Select autoFocus value={chosen} onChange={(event) => setAsked(event.target.value)}>
          {usable.map((one) => (
            <option key={one.id} value={one.id}>
              {one.name}
            </option>
          ))}
          <option value={NEW}>New kind of score…</option>
        </Select>
      </Field>
    </ValueForm>
  );
}

function ValueForm({ config, target, onClose, children }: { config: ScoreConfig; target: Target; onClose: () => void; children: React.ReactNode }) {
  const [value, setValue] = useState(config.type === "CATEGORICAL" ? (config.categories[0]?.label ?? "") : config.type === "BOOLEAN" ? "1" : "");
  const [comment, setComment] = useState("");
  const [about, setAbout] = useState<"observation" | "trace">("observation");
  const add = useAddScore(target.traceId);
  const isNumber = config.type === "NUMERIC" || config.type === "BOOLEAN";
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate(
      {
        name: config.name,
        config_id: config.id,
        trace_id: target.traceId,
        ...(about === "observation" && { observation_id: target.observationId }),
        ...(isNumber ? { number: Number(value) } : { text: value }),
        ...(comment.trim() && { comment }),
      },
      { onSuccess: onClose },
    );
  };
  return (
    <form className="said-form" aria-label="New score" onSubmit={submit} onKeyDown={(event) => event.key === "Escape" && (event.stopPropagation(), onClose())}>
      {children}
      <Value config={config} value={value} onChange={setValue} error={add.error ? `Not saved: ${messageOf(add.error)}` : null} />
      <Field label="Why (optional)">
        <Input value={comment} maxLength={5000} onChange={(event) => setComment(event.target.value)} />
      </Field>
      <Segmented label="About" options={ABOUT} value={about} onChange={setAbout} />
      <div className="form-actions">
        <Button size="small" onClick={onClose}>
          Cancel
        </Button>
        <Button size="small" variant="primary" type="submit" busy={add.isPending} disabled={value === ""}>
          Save the score
        </Button>
      </div>
    </form>
  );
}

const ABOUT = [
  { value: "observation", label: "This observation" },
  { value: "trace", label: "The whole trace" },
] as const;

interface ValueProps {
  config: ScoreConfig;
  value: string;
  onChange: (value: string) => void;
  error: string | null;
}

function Value(props: ValueProps) {
  const { type } = props.config;
  if (type === "CATEGORICAL" || type === "BOOLEAN") return <Choice {...props} />;
  return type === "NUMERIC" ? <NumberValue {...props} /> : <TextValue {...props} />;
}

function Choice({ config, value, onChange, error }: ValueProps) {
  const options = config.type === "BOOLEAN" ? BOOLEANS : config.categories.map(({ label }) => ({ value: label, label }));
  return (
    <Field label="Value" error={error} hint={config.description || undefined}>
      <Select value={value} onChange={(event) => onChange(event.target.value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </Select>
    </Field>
  );
}

function NumberValue({ config, value, onChange, error }: ValueProps) {
  const { min_value: min, max_value: max } = config;
  const range = min === null && max === null ? "" : `${min ?? "…"} to ${max ?? "…"}. `;
  return (
    <Field label="Value" error={error} hint={`${range}${config.description}` || undefined}>
      <Input type="number" step="any" required min={min ?? undefined} max={max ?? undefined} value={value} onChange={(event) => onChange(event.target.value)} />
    </Field>
  );
}

function TextValue({ value, onChange, error }: ValueProps) {
  return (
    <Field label="Value" error={error} hint="Up to 500 characters">
      <textarea className="textarea" rows={3} required maxLength={500} value={value} onChange={(event) => onChange(event.target.value)} />
    </Field>
  );
}

const BOOLEANS = [
  { value: "1", label: "True" },
  { value: "0", label: "False" },
];
