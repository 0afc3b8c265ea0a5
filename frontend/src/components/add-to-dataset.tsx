import "./add-to-dataset.css";

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { useLocation } from "wouter";

import { useProject } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { api, inProject, messageOf } from "@/lib/api/client";
import { datasetsQuery } from "@/lib/api/queries";
import type { Dataset, DatasetItem, Observation } from "@/lib/api/types";
import { fromText, toText } from "@/lib/json-text";

import { Button } from "./button";
import { Dialog } from "./dialog";
import { Field, Input, Select } from "./field";

const NEW = "+";

interface AddProps {
  traceId: string;
  observation: Observation;
  onClose: () => void;
}

/** Makes a dataset item of an observation: its input, and its output as what is expected. */
export default function AddToDataset({ traceId, observation, onClose }: AddProps) {
  const { slug } = useProject();
  const [, go] = useLocation();
  const datasets = useQuery(datasetsQuery(slug));
  const [asked, setAsked] = useState<string | null>(null);
  const [name, setName] = useState("");
  const [input, setInput] = useState(() => toText(observation.input));
  const [expected, setExpected] = useState(() => toText(observation.output));
  const chosen = asked ?? datasets.data?.[0]?.id ?? NEW;
  const given = fromText(input);
  const wanted = fromText(expected);
  const add = useAdd(traceId, observation.id);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const values = { input: given.value, expected_output: wanted.value };
    add.mutate(
      { dataset: chosen === NEW ? null : chosen, name, values },
      {
        onSuccess: (dataset) => {
          announce("Added to the dataset");
          onClose();
          if (chosen === NEW) go(`/p/${slug}/datasets/${dataset}`);
        },
      },
    );
  };
  const blocked = Boolean(given.problem ?? wanted.problem) || (chosen === NEW && !name.trim());
  return (
    <Dialog title="Add to a dataset" onClose={onClose} wide>
      <form className="add-item" onSubmit={submit}>
        <Target datasets={datasets.data} chosen={chosen} onChoose={setAsked} name={name} onName={setName} />
        <Field label="Input" hint="JSON or plain text" error={given.problem}>
          <textarea className="textarea mono" rows={7} value={input} onChange={(event) => setInput(event.target.value)} />
        </Field>
        <Field label="Expected output" hint="What a good answer would be; may stay empty" error={wanted.problem}>
          <textarea className="textarea mono" rows={6} value={expected} onChange={(event) => setExpected(event.target.value)} />
        </Field>
        {add.error && (
          <p className="field-error" role="alert">
            Not added: {messageOf(add.error)}
          </p>
        )}
        <div className="form-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" busy={add.isPending} disabled={blocked}>
            Add the item
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

interface TargetProps {
  datasets: Dataset[] | undefined;
  chosen: string;
  onChoose: (id: string) => void;
  name: string;
  onName: (name: string) => void;
}

function Target({ datasets = [], chosen, onChoose, name, onName }: TargetProps) {
  return (
    <>
      <Field label="Dataset">
        <Select autoFocus value={chosen} onChange={(event) => onChoose(event.target.value)}>
          {datasets.map((one) => (
            <option key={one.id} value={one.id}>
              {one.name}
            </option>
          ))}
          <option value={NEW}>New dataset…</option>
        </Select>
      </Field>
      {chosen === NEW && (
        <Field label="Name of the new dataset" hint="Slashes make folders: support/hard questions">
          <Input required maxLength={255} value={name} onChange={(event) => onName(event.target.value)} />
        </Field>
      )}
    </>
  );
}

interface Addition {
  dataset: string | null;
  name: string;
  values: { input: unknown; expected_output: unknown };
}

/** Gives the id of the dataset, which is made where there is none. */
function useAdd(traceId: string, observationId: string) {
  const { slug } = useProject();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async ({ dataset, name, values }: Addition): Promise<string> => {
      const id = dataset ?? (await api.post<Dataset>(inProject(slug, "datasets"), { name: name.trim() })).id;
      await api.post<DatasetItem>(inProject(slug, "datasets", id, "items"), { ...values, source_trace_id: traceId, source_observation_id: observationId });
      return id;
    },
    onSettled: () => queries.invalidateQueries({ queryKey: datasetsQuery(slug).queryKey }),
  });
}
