import { useState, type FormEvent } from "react";

import { Button } from "@/components/button";
import { Field, Input, Select } from "@/components/field";
import { messageOf } from "@/lib/api/client";
import type { ScoreConfig, ScoreConfigCreate } from "@/lib/api/types";

import { useCreateConfig } from "./said-api";

const TYPES: { value: ScoreConfig["type"]; label: string }[] = [
  { value: "NUMERIC", label: "A number" },
  { value: "BOOLEAN", label: "True or false" },
  { value: "CATEGORICAL", label: "One of some words" },
  { value: "TEXT", label: "A text" },
];

/** Describes a new kind of score, for the whole project. */
export function NewConfig({ onMade, onClose }: { onMade: (config: ScoreConfig) => void; onClose: () => void }) {
  const [name, setName] = useState("");
  const [type, setType] = useState<ScoreConfig["type"]>("NUMERIC");
  const [min, setMin] = useState("");
  const [max, setMax] = useState("");
  const [words, setWords] = useState("");
  const create = useCreateConfig();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate(configOf(name, type, min, max, words), { onSuccess: onMade });
  };
  return (
    <form className="said-form" aria-label="New kind of score" onSubmit={submit} onKeyDown={(event) => event.key === "Escape" && (event.stopPropagation(), onClose())}>
      <Field label="Name of the new kind of score" hint="Such as “helpful”" error={create.error ? `Not made: ${messageOf(create.error)}` : null}>
        <Input autoFocus required maxLength={200} value={name} onChange={(event) => setName(event.target.value)} />
      </Field>
      <Field label="Its values">
        <Select value={type} onChange={(event) => setType(event.target.value as ScoreConfig["type"])}>
          {TYPES.map((one) => (
            <option key={one.value} value={one.value}>
              {one.label}
            </option>
          ))}
        </Select>
      </Field>
      {type === "NUMERIC" && (
        <div className="said-range">
          <Field label="From (optional)">
            <Input type="number" step="any" value={min} onChange={(event) => setMin(event.target.value)} />
          </Field>
          <Field label="To (optional)">
            <Input type="number" step="any" value={max} onChange={(event) => setMax(event.target.value)} />
          </Field>
        </div>
      )}
      {type === "CATEGORICAL" && (
        <Field label="Words" hint="With commas between, worst first: bad, fair, good">
          <Input required value={words} onChange={(event) => setWords(event.target.value)} />
        </Field>
      )}
      <div className="form-actions">
        <Button size="small" onClick={onClose}>
          Cancel
        </Button>
        <Button size="small" variant="primary" type="submit" busy={create.isPending} disabled={!name.trim()}>
          Make it
        </Button>
      </div>
    </form>
  );
}

function configOf(name: string, type: ScoreConfig["type"], min: string, max: string, words: string): ScoreConfigCreate {
  const labels = words.split(",").map((word) => word.trim());
  return {
    name: name.trim(),
    type,
    ...(type === "NUMERIC" && { min_value: min === "" ? null : Number(min), max_value: max === "" ? null : Number(max) }),
    ...(type === "CATEGORICAL" && { categories: labels.filter(Boolean).map((label, value) => ({ label, value })) }),
  };
}
