import { useQuery } from "@tanstack/react-query";
import { useEffect, useState, type FormEvent } from "react";

import { Button } from "@/components/button";
import { Dialog } from "@/components/dialog";
import { Field, Input } from "@/components/field";
import { useProject } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { ApiError, messageOf } from "@/lib/api/client";
import { plural } from "@/lib/format";

import { tryMask, useSaveMask, type Mask, type MaskTried } from "./intake-api";

const SAMPLE = "My key is sk-live-4242424242424242, write to ada@example.com";
const WAIT_MS = 300;

/** A pattern and its replacement, tried on a text as they are typed. */
export default function MaskDialog({ mask, onClose }: { mask: Mask | null; onClose: () => void }) {
  const { typed, type, tried, errors, submit, busy } = useMask(mask, onClose);
  return (
    <Dialog title={mask ? `Edit ${mask.name}` : "New mask"} description="It is in force within two seconds, for what comes in from then on." onClose={onClose} wide>
      <form className="form" onSubmit={submit}>
        <Field label="Name">
          <Input required autoFocus maxLength={200} placeholder="Keys" value={typed.name} onChange={(event) => type({ name: event.target.value })} />
        </Field>
        <Field label="Pattern" hint="A regular expression in the syntax of RE2: sk-[A-Za-z0-9-]{8,}" error={errors.pattern}>
          <Input required className="mono" maxLength={1000} value={typed.pattern} onChange={(event) => type({ pattern: event.target.value })} />
        </Field>
        <Field label="Replaced by" hint="\1 stands for what the first group found" error={errors.replacement}>
          <Input className="mono" maxLength={200} value={typed.replacement} onChange={(event) => type({ replacement: event.target.value })} />
        </Field>
        <Field label="Try it on a text" hint="It is not stored. JSON is masked by its keys, texts and numbers">
          <textarea className="textarea mono" rows={4} maxLength={20_000} value={typed.text} onChange={(event) => type({ text: event.target.value })} />
        </Field>
        <Tried tried={tried} />
        {errors.other && (
          <p className="field-error" role="alert">
            Not saved: {errors.other}
          </p>
        )}
        <div className="form-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" busy={busy} disabled={!typed.name.trim() || !typed.pattern}>
            {mask ? "Save mask" : "Add mask"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** What is typed, what it would make of the text, and how it is sent. */
function useMask(mask: Mask | null, onClose: () => void) {
  const { slug } = useProject();
  const [typed, setTyped] = useState(() => typedOf(mask));
  const { name, pattern, replacement, text } = typed;
  const asked = useSettled(typed);
  const tried = useQuery(tryMask(slug, { pattern: asked.pattern, replacement: asked.replacement, text: asked.text }));
  const save = useSaveMask(mask?.id ?? null);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const onSuccess = () => {
      announce(`${name.trim()} is ${mask ? "changed" : "in force"}`);
      onClose();
    };
    save.mutate({ name: name.trim(), pattern, replacement }, { onSuccess });
  };
  const wrong = pattern === "" ? null : tried.error;
  return {
    typed: { name, pattern, replacement, text },
    type: (changes: Partial<typeof typed>) => setTyped({ ...typed, ...changes }),
    tried: pattern === "" || wrong ? undefined : tried.data,
    errors: errorsOf(save.error ?? wrong),
    submit,
    busy: save.isPending,
  };
}

const typedOf = (mask: Mask | null) => ({ name: "", pattern: "", replacement: "[masked]", ...(mask && { name: mask.name, pattern: mask.pattern, replacement: mask.replacement }), text: SAMPLE });

/** What would be stored; its place is kept while there is nothing yet. */
function Tried({ tried }: { tried: MaskTried | undefined }) {
  return (
    <div className="intake-tried" aria-live="polite">
      <span className="faint">{tried ? (tried.count === 0 ? "The pattern finds nothing in it" : `Found ${plural(tried.count, "time")}; stored would be`) : "What would be stored shows here"}</span>
      <pre tabIndex={0} role="group" aria-label="What would be stored">
        {tried?.text ?? ""}
      </pre>
    </div>
  );
}

function errorsOf(error: unknown) {
  const errors: Record<"pattern" | "replacement" | "other", string | null> = { pattern: null, replacement: null, other: null };
  if (!error) return errors;
  const field = error instanceof ApiError ? error.field : null;
  errors[field === "pattern" || field === "replacement" ? field : "other"] = messageOf(error);
  return errors;
}

/** What was typed, once the typing has paused. */
function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), WAIT_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
