import { useQuery } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";

import { Button } from "@/components/button";
import { Code } from "@/components/code";
import { CopyButton } from "@/components/copy";
import { Field, Input } from "@/components/field";
import { useProject } from "@/hooks/use-project";
import { messageOf } from "@/lib/api/client";
import { modelsQuery } from "@/lib/api/queries";
import { firstCall } from "@/lib/snippets";

import { useCreateKey } from "./api";

/** Names a key and makes it. The secret stands here, in the page, until the reader has done with it: no stray Escape loses it. */
export function NewKey({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const create = useCreateKey();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim()) create.mutate(name.trim());
  };
  if (create.data?.secret_key) return <Secret name={create.data.name} secret={create.data.secret_key} publicKey={create.data.public_key} onClose={onClose} />;
  return (
    <form className="settings-panel" onSubmit={submit} onKeyDown={(event) => event.key === "Escape" && onClose()}>
      <Field label="Name of the new key" hint="Where it will be used, such as “production backend”" error={create.error ? `Not made: ${messageOf(create.error)}` : null}>
        <Input autoFocus required maxLength={120} value={name} onChange={(event) => setName(event.target.value)} />
      </Field>
      <div className="form-actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button variant="primary" type="submit" busy={create.isPending} disabled={!name.trim()}>
          Make the key
        </Button>
      </div>
    </form>
  );
}

function Secret({ name, secret, publicKey, onClose }: { name: string; secret: string; publicKey: string; onClose: () => void }) {
  const { slug } = useProject();
  const model = useQuery(modelsQuery(slug)).data?.[0]?.id ?? "MODEL";
  return (
    <div className="settings-panel" role="group" aria-label={`New key ${name}`}>
      <div className="settings-secret-head">
        <h3>{name} is ready</h3>
        <p className="muted">This is the only time the secret is shown. Copy it now and keep it where your program reads it.</p>
      </div>
      <dl className="settings-secret">
        <dt>Secret key</dt>
        <dd>
          <code>{secret}</code>
          <CopyButton text={secret} label="Copy the secret key" wide />
        </dd>
        <dt>Public key</dt>
        <dd>
          <code>{publicKey}</code>
          <CopyButton text={publicKey} label="Copy the public key" />
        </dd>
      </dl>
      <div className="settings-code">
        <p className="field-hint">Three lines that use it, and bring a trace:</p>
        <Code text={firstCall(window.location.origin, model, secret)} label="Copy the code" />
      </div>
      <div className="form-actions">
        <Button variant="primary" onClick={onClose}>
          I have copied it
        </Button>
      </div>
    </div>
  );
}
