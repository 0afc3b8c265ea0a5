import { useQuery } from "@tanstack/react-query";
import { KeyRound, Plus } from "lucide-react";
import { lazy, Suspense, useState } from "react";

import { Button } from "@/components/button";
import { CopyButton } from "@/components/copy";
import { RoleNote } from "@/components/role-note";
import { Empty, Loaded } from "@/components/states";
import { Ago } from "@/components/time";
import { useHotkey } from "@/hooks/use-hotkey";
import { useMay, useProject } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { messageOf } from "@/lib/api/client";
import type { ApiKey } from "@/lib/api/types";
import { plural } from "@/lib/format";

import { keysQuery, useRevokeKey } from "./api";
import { NewKey } from "./new-key";
import { SectionHead } from "./section-head";

const Confirm = lazy(() => import("@/components/confirm"));

export function Keys() {
  const { slug } = useProject();
  const may = useMay("admin");
  const sees = useMay("member");
  const query = useQuery({ ...keysQuery(slug), enabled: sees });
  const [making, setMaking] = useState<boolean | null>(null);
  useHotkey("n", "New key", () => setMaking(true), { enabled: may });
  const none = query.data?.length === 0;
  return (
    <section className="section">
      <SectionHead
        title="API keys"
        text="A key opens this project to a program: the gateway at /v1 takes the secret alone, the trace doors take both halves."
        action={
          may &&
          !making &&
          !none && (
            <Button variant="primary" icon={<Plus size={15} />} keys="n" autoFocus={making === false} onClick={() => setMaking(true)}>
              New key
            </Button>
          )
        }
      />
      {making && <NewKey onClose={() => setMaking(false)} />}
      {!may && <RoleNote needs={sees ? "admin" : "member"} what={sees ? "Making and revoking keys" : "Seeing the keys"} />}
      {sees && (
        <Loaded query={query} what="The keys">
          {(keys) => (keys.length === 0 ? <>{!making && <NoKeys onCreate={may ? () => setMaking(true) : undefined} />}</> : <KeyLists keys={keys} may={may} />)}
        </Loaded>
      )}
    </section>
  );
}

function NoKeys({ onCreate }: { onCreate?: () => void }) {
  return (
    <Empty icon={<KeyRound size={24} />} title="No key yet">
      <p>Programs need one to call models through Hone and to send traces.</p>
      {onCreate && (
        <Button variant="primary" icon={<Plus size={15} />} keys="n" onClick={onCreate}>
          New key
        </Button>
      )}
    </Empty>
  );
}

function KeyLists({ keys, may }: { keys: ApiKey[]; may: boolean }) {
  const [revoking, setRevoking] = useState<ApiKey | null>(null);
  const revoke = useRevokeKey();
  const live = keys.filter((key) => key.revoked_at === null);
  const revoked = keys.filter((key) => key.revoked_at !== null);
  const confirmed = (key: ApiKey) =>
    revoke.mutate(key.id, {
      onSuccess: () => announce(`${key.name} is revoked`),
      onError: (error) => announce(`Not revoked: ${messageOf(error)}`, "error"),
      onSettled: () => setRevoking(null),
    });
  return (
    <>
      {live.length > 0 ? <KeyTable keys={live} onRevoke={may ? setRevoking : undefined} /> : <p className="muted settings-none">All keys are revoked.</p>}
      {revoked.length > 0 && (
        <details className="settings-more">
          <summary>{plural(revoked.length, "revoked key")}</summary>
          <KeyTable keys={revoked} />
        </details>
      )}
      {revoking && (
        <Suspense>
          <Confirm
            title={`Revoke ${revoking.name}?`}
            description={`Programs that use ${revoking.secret_hint} are refused within seconds. It cannot be undone; a new key can take its place.`}
            action="Revoke key"
            busy={revoke.isPending}
            onConfirm={() => confirmed(revoking)}
            onClose={() => setRevoking(null)}
          />
        </Suspense>
      )}
    </>
  );
}

function KeyTable({ keys, onRevoke }: { keys: ApiKey[]; onRevoke?: (key: ApiKey) => void }) {
  return (
    <div className="table-scroll settings-table" tabIndex={0} role="group" aria-label="Keys">
      <table className="table">
        <thead>
          <tr>
            <th>Name</th>
            <th>Public key</th>
            <th>Secret</th>
            <th className="num">Created</th>
            <th className="num">{onRevoke || keys[0]?.revoked_at === null ? "Last used" : "Revoked"}</th>
            {onRevoke && (
              <th>
                <span className="sr-only">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <KeyRow key={key.id} apiKey={key} onRevoke={onRevoke} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function KeyRow({ apiKey, onRevoke }: { apiKey: ApiKey; onRevoke?: (key: ApiKey) => void }) {
  return (
    <tr>
      <td className="settings-name">{apiKey.name}</td>
      <td>
        <span className="settings-copyable">
          <code className="ellipsis">{apiKey.public_key}</code>
          <CopyButton text={apiKey.public_key} label={`Copy the public key of ${apiKey.name}`} />
        </span>
      </td>
      <td>
        <code className="muted">{apiKey.secret_hint}</code>
      </td>
      <td className="num muted">
        <Ago at={apiKey.created_at} />
      </td>
      <td className="num muted">
        <Ago at={apiKey.revoked_at ?? apiKey.latest_used_at} />
      </td>
      {onRevoke && (
        <td className="num">
          <Button variant="quiet" size="small" className="settings-revoke" aria-label={`Revoke ${apiKey.name}`} onClick={() => onRevoke(apiKey)}>
            Revoke
          </Button>
        </td>
      )}
    </tr>
  );
}
