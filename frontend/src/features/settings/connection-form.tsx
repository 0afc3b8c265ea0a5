import { useState, type FormEvent } from "react";

import { Button } from "@/components/button";
import { Dialog } from "@/components/dialog";
import { Field, Input } from "@/components/field";
import { ApiError, messageOf } from "@/lib/api/client";
import type { Connection } from "@/lib/api/types";

import { useSaveConnection, type ConnectionFields } from "./api";
import { changesOf, modelsOf, urlProblem } from "./connection-fields";

interface FormProps {
  /** Null makes a new one. */
  connection: Connection | null;
  onSaved: (connection: Connection) => void;
  onClose: () => void;
}

export default function ConnectionForm({ connection, onSaved, onClose }: FormProps) {
  const { typed, type, fields, errors, save, submit, ready } = useForm(connection, onSaved);
  return (
    <Dialog title={connection ? `Edit ${connection.name}` : "New connection"} description="It is tested as soon as it is saved." onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <Field label="Name" error={errors.name}>
          <Input required maxLength={80} placeholder="OpenAI" value={typed.name} onChange={(event) => type({ name: event.target.value })} />
        </Field>
        <Field label="Base URL" hint="The part before /chat/completions" error={errors.base_url}>
          <Input required type="url" inputMode="url" className="mono" placeholder="https://api.openai.com/v1" value={typed.url} onChange={(event) => type({ url: event.target.value })} />
        </Field>
        <Field label="API key" hint={keyHint(connection, fields)} error={errors.api_key}>
          <Input type="password" autoComplete="new-password" className="mono" value={typed.key} onChange={(event) => type({ key: event.target.value })} />
        </Field>
        <Field label="Models" hint="One a line. Left empty, the test shows what there is." error={errors.models}>
          <textarea className="textarea mono" rows={Math.min(8, typed.models.split("\n").length + 2)} spellCheck={false} placeholder={"gpt-4o\ngpt-4o-mini"} value={typed.models} onChange={(event) => type({ models: event.target.value })} />
        </Field>
        {errors.other && (
          <p className="field-error" role="alert">
            Not saved: {errors.other}
          </p>
        )}
        <div className="form-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" busy={save.isPending} disabled={!ready}>
            {connection ? "Save and test" : "Add and test"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function useForm(connection: Connection | null, onSaved: (connection: Connection) => void) {
  const [typed, setTyped] = useState(() => typedOf(connection));
  const save = useSaveConnection(connection?.id ?? null);
  const fields: ConnectionFields = {
    name: typed.name.trim(),
    base_url: typed.url.trim(),
    models: modelsOf(typed.models),
    ...(typed.key && { api_key: typed.key.trim() }),
  };
  const badUrl = urlProblem(fields.base_url);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (badUrl === null) save.mutate(connection ? changesOf(connection, fields) : fields, { onSuccess: onSaved });
  };
  return {
    typed,
    type: (changes: Partial<typeof typed>) => setTyped({ ...typed, ...changes }),
    fields,
    errors: errorsOf(save.error, badUrl),
    save,
    submit,
    ready: fields.name !== "" && fields.base_url !== "" && badUrl === null,
  };
}

const typedOf = (connection: Connection | null) => ({
  name: connection?.name ?? "",
  url: connection?.base_url ?? "",
  key: "",
  models: (connection?.models ?? []).join("\n"),
});

/** What the server refused, at the field that it names; anything else under the form. */
function errorsOf(error: unknown, badUrl: string | null) {
  const at = (field: string) => (error instanceof ApiError && error.field === field ? error.message : null);
  const errors = { name: at("name"), base_url: badUrl ?? at("base_url"), api_key: at("api_key"), models: at("models") };
  const isPlaced = Object.values(errors).some((text) => text !== null);
  return { ...errors, other: error && !isPlaced ? messageOf(error) : null };
}

function keyHint(connection: Connection | null, fields: ConnectionFields): string {
  if (!connection?.has_api_key) return "Kept encrypted and never shown again. Left empty where none is needed";
  if (fields.base_url !== connection.base_url && !fields.api_key) return "The address is another one, so the key has to be given again";
  return `Left empty, ${connection.api_key_hint ?? "the present key"} stays`;
}
