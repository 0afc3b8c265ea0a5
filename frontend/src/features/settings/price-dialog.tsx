import { Plus, X } from "lucide-react";
import { useId, useState, type FormEvent } from "react";

import { Button, IconButton } from "@/components/button";
import { Dialog } from "@/components/dialog";
import { Field, Input, Select } from "@/components/field";
import { announce } from "@/lib/announce";
import { ApiError, messageOf } from "@/lib/api/client";

import { useSavePrice } from "./intake-api";
import { newCondition, newPart, newTier, problemOf, requestOf, type TypedPart, type TypedPrice, type TypedTier } from "./price-form";
import { OPERATOR_NAMES } from "./price-text";

interface DialogProps {
  /** Null makes a new one. */
  id: string | null;
  initial: TypedPrice;
  onClose: () => void;
}

export default function PriceDialog({ id, initial, onClose }: DialogProps) {
  const form = usePrice(id, initial, onClose);
  const { typed, type } = form;
  return (
    <Dialog title={id ? `Edit ${initial.name}` : "New price"} description="It holds for calls that come in from now on." onClose={onClose} wide>
      <form className="form" onSubmit={form.submit}>
        <div className="form-row">
          <Field label="Name">
            <Input required autoFocus maxLength={200} placeholder="Our GPT-4o" value={typed.name} onChange={(event) => type({ name: event.target.value })} />
          </Field>
          <Field label="Holds from" hint="Left empty: always">
            <Input type="datetime-local" value={typed.starts} onChange={(event) => type({ starts: event.target.value })} />
          </Field>
        </div>
        <Field label="Models" hint="A regular expression (RE2) that the model’s name is searched with: ^gpt-4o$" error={form.patternError}>
          <Input required className="mono" maxLength={1000} value={typed.pattern} onChange={(event) => type({ pattern: event.target.value })} />
        </Field>
        <Parts legend="USD a million tokens" parts={typed.parts} onChange={(parts) => type({ parts })} />
        {typed.tiers.map((tier, index) => (
          <Tier key={tier.key} number={index + 1} tier={tier} onChange={(next) => type({ tiers: typed.tiers.map((one) => (one.key === tier.key ? next : one)) })} onRemove={() => type({ tiers: typed.tiers.filter((one) => one.key !== tier.key) })} />
        ))}
        <div>
          <Button size="small" variant="quiet" icon={<Plus size={14} />} onClick={() => type({ tiers: [...typed.tiers, newTier()] })}>
            Add a tier
          </Button>
        </div>
        {form.error && (
          <p className="field-error" role="alert">
            {form.error}
          </p>
        )}
        <div className="form-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" busy={form.busy}>
            {id ? "Save price" : "Add price"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** What is typed, what is wrong with it, and how it is sent. */
function usePrice(id: string | null, initial: TypedPrice, onClose: () => void) {
  const [typed, setTyped] = useState(initial);
  const [tried, setTried] = useState(false);
  const save = useSavePrice(id);
  const problem = problemOf(typed);
  const atPattern = save.error instanceof ApiError && save.error.field === "pattern";
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    const onSuccess = () => {
      announce(`${typed.name.trim()} is ${id ? "changed" : "added"}`);
      onClose();
    };
    if (!problem) save.mutate(requestOf(typed), { onSuccess });
  };
  const refused = save.error && !atPattern ? messageOf(save.error) : null;
  return {
    typed,
    type: (changes: Partial<TypedPrice>) => setTyped({ ...typed, ...changes }),
    submit,
    busy: save.isPending,
    error: (tried && problem) || refused,
    patternError: atPattern ? messageOf(save.error) : null,
  };
}

const KNOWN_PARTS = ["input", "output", "input_cached_tokens", "input_cache_creation", "output_reasoning_tokens", "total"];

function Parts({ legend, parts, onChange }: { legend: string; parts: TypedPart[]; onChange: (parts: TypedPart[]) => void }) {
  const list = useId();
  const change = (key: number, changes: Partial<TypedPart>) => onChange(parts.map((one) => (one.key === key ? { ...one, ...changes } : one)));
  return (
    <fieldset className="intake-fields">
      <legend>{legend}</legend>
      <datalist id={list}>
        {KNOWN_PARTS.map((part) => (
          <option key={part} value={part} />
        ))}
      </datalist>
      {parts.map((one, index) => (
        <div key={one.key} className="intake-line">
          <Input className="mono" aria-label={`Part ${index + 1}`} placeholder="input" list={list} value={one.part} onChange={(event) => change(one.key, { part: event.target.value })} />
          <Input className="mono num" aria-label={`Price of part ${index + 1}`} inputMode="decimal" placeholder="2.5" value={one.price} onChange={(event) => change(one.key, { price: event.target.value })} />
          <IconButton label={`Remove part ${index + 1}`} icon={<X size={14} />} disabled={parts.length === 1} onClick={() => onChange(parts.filter((other) => other !== one))} />
        </div>
      ))}
      <div>
        <Button size="small" variant="quiet" icon={<Plus size={14} />} onClick={() => onChange([...parts, newPart()])}>
          Add a part
        </Button>
      </div>
    </fieldset>
  );
}

interface TierProps {
  number: number;
  tier: TypedTier;
  onChange: (tier: TypedTier) => void;
  onRemove: () => void;
}

function Tier({ number, tier, onChange, onRemove }: TierProps) {
  const change = (key: number, changes: object) => onChange({ ...tier, conditions: tier.conditions.map((one) => (one.key === key ? { ...one, ...changes } : one)) });
  return (
    <section className="intake-tier-form" aria-label={`Tier ${number}`}>
      <header>
        <h3>Tier {number}</h3>
        <span className="faint">counts where all of this holds</span>
        <IconButton label={`Remove tier ${number}`} icon={<X size={14} />} onClick={onRemove} />
      </header>
      {tier.conditions.map((one, index) => (
        <div key={one.key} className="intake-line intake-condition">
          <Input className="mono" aria-label={`Usage of condition ${index + 1}`} title="A regular expression that finds the parts of the usage that are summed up" value={one.usage_pattern} onChange={(event) => change(one.key, { usage_pattern: event.target.value })} />
          <Select aria-label={`Comparison of condition ${index + 1}`} value={one.operator} onChange={(event) => change(one.key, { operator: event.target.value })}>
            {Object.entries(OPERATOR_NAMES).map(([operator, name]) => (
              <option key={operator} value={operator}>
                {name}
              </option>
            ))}
          </Select>
          <Input className="mono num" aria-label={`Tokens of condition ${index + 1}`} inputMode="numeric" placeholder="200000" value={one.value} onChange={(event) => change(one.key, { value: event.target.value })} />
          <IconButton label={`Remove condition ${index + 1}`} icon={<X size={14} />} disabled={tier.conditions.length === 1} onClick={() => onChange({ ...tier, conditions: tier.conditions.filter((other) => other !== one) })} />
        </div>
      ))}
      <div>
        <Button size="small" variant="quiet" icon={<Plus size={14} />} onClick={() => onChange({ ...tier, conditions: [...tier.conditions, newCondition()] })}>
          Add a condition
        </Button>
      </div>
      <Parts legend="Then, USD a million tokens" parts={tier.parts} onChange={(parts) => onChange({ ...tier, parts })} />
    </section>
  );
}
